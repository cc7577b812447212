/** Messages about cordoned and uncordoned nodes, in kubectl's words: for `cordon`, `uncordon`, `drain` and `view`. */
import type { CordonResult } from '../operations/cordon.ts';
import { sanitizeLine } from './sanitize.ts';

/** A line for stdout or stderr, or an error, which the caller formats. */
export type NodeLine =
  | { to: 'out' | 'err'; text: string }
  | { to: 'error'; message: string; next?: string | undefined };

/** @param suffix of the message, as ` (dry run)` */
export function cordonLine(result: CordonResult, unschedulable: boolean, suffix: string): NodeLine {
  const action = unschedulable ? 'cordon' : 'uncordon';
  const name = sanitizeLine(result.node);
  switch (result.kind) {
    case 'changed':
      return { to: 'out', text: `node/${name} ${action}ed${suffix}` };
    case 'already':
      return { to: 'out', text: `node/${name} already ${action}ed${suffix}` };
    case 'gone':
      return { to: 'err', text: `node/${name} is gone` };
    case 'failed':
      return unable(action, name, result.error);
  }
}

export function unable(
  action: string,
  node: string,
  { message, next }: { message: string; next: string | undefined },
): NodeLine {
  return { to: 'error', message: `unable to ${action} node "${node}": ${message}`, next };
}
