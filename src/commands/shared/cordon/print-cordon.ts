/** Messages about cordoned and uncordoned nodes, in kubectl's words: for `cordon`, `uncordon`, `drain` and `view`. */

import { showError } from '../../../cli/error-line.ts';
import type { Io } from '../../../cli/io.ts';
import { ownerText } from '../../../nodepool/drain/maintenance.ts';
import type { MaintenanceChange } from '../../../nodepool/drain/plan-cordon.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { CordonResult } from './cordon.ts';

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
    case 'maintained':
    case 'already': {
      const already = result.kind === 'changed' ? '' : 'already ';
      const text = `node/${name} ${already}${action}ed${changeText(result.change, result.kind)}${suffix}`;
      return { to: 'out', text };
    }
    case 'left':
      return {
        to: 'out',
        text: `node/${name} stays cordoned, as before its maintenance${changeText(result.change, result.kind)}${suffix}`,
      };
    case 'gone':
      return { to: 'err', text: `node/${name} is gone` };
    case 'failed':
      return unable(action, name, result.error);
  }
}

/** That a node which is cordoned begins a maintenance needs no words: kubectl's line stays as it is. */
function changeText(change: MaintenanceChange | undefined, kind: CordonResult['kind']): string {
  switch (change?.kind) {
    case undefined:
      return '';
    case 'begun':
      return kind === 'changed' ? '' : '; maintenance begun';
    case 'updated':
      return '; maintenance updated';
    case 'taken over':
      return `; maintenance taken over from ${sanitizeLine(ownerText(change.from))}`;
    case 'ended':
      return `; maintenance of ${sanitizeLine(ownerText(change.from))} ended`;
    case 'removed': {
      const { from } = change;
      const what = from === undefined ? 'unreadable maintenance' : `stale maintenance of ${ownerText(from)}`;
      return `; ${sanitizeLine(what)} removed`;
    }
  }
}

export function unable(
  action: string,
  node: string,
  { message, next }: { message: string; next: string | undefined },
): NodeLine {
  return { to: 'error', message: `unable to ${action} node "${node}": ${message}`, next };
}

/** Prints a line where it belongs. Its text is escaped by the renderer, an error by showError(). */
export function printLine(line: NodeLine, io: Io): void {
  if (line.to === 'out') io.out(line.text);
  else if (line.to === 'error') showError(io, line);
  else io.err(line.text);
}
