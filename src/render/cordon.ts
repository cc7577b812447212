/** What is said of nodes that are closed and opened, in kubectl's words: by `cordon`, `drain` and the dashboard. */
import type { CordonResult } from '../operations/cordon.ts';
import { sanitizeLine } from './sanitize.ts';

/** A line for stdout, for stderr, or an error: who prints knows how. */
export type NodeLine =
  | { to: 'out' | 'err'; text: string }
  | { to: 'error'; message: string; next?: string | undefined };

/** @param suffix follows what is said, as ` (dry run)` */
export function cordonLine(result: CordonResult, unschedulable: boolean, suffix: string): NodeLine {
  const verb = unschedulable ? 'cordon' : 'uncordon';
  const name = sanitizeLine(result.node);
  switch (result.kind) {
    case 'changed':
      return { to: 'out', text: `node/${name} ${verb}ed${suffix}` };
    case 'already':
      return { to: 'out', text: `node/${name} already ${verb}ed${suffix}` };
    case 'gone':
      return { to: 'err', text: `node/${name} is gone` };
    case 'failed':
      return unable(verb, name, result.error);
  }
}

export function unable(
  verb: string,
  node: string,
  { message, next }: { message: string; next: string | undefined },
): NodeLine {
  return { to: 'error', message: `unable to ${verb} node "${node}": ${message}`, next };
}
