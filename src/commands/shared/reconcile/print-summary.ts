/** The result of a reconcile, a line for each pool. */

import { defined } from '../../../nodepool/json.ts';
import { contestIn, troubleIn, unfinishedRollout } from '../../../nodepool/status/status.ts';
import { plural } from '../../../nodepool/text.ts';
import { API_VERSION, type NodePool, type NodePoolStatus } from '../../../nodepool/types.ts';
import { poolResource, shorten, statusCell } from '../../../print/cells.ts';
import type { Style } from '../../../print/style.ts';
import { type Cell, DESCRIBE, renderTable } from '../../../print/table.ts';

export interface ReconciledPool {
  pool: string;
  /** Undefined when the reconcile failed or was not begun. */
  outcome:
    | {
        kind: 'reconciled' | 'released' | 'interrupted';
        status: NodePoolStatus | undefined;
        runtimeClass: { kind: 'unchanged' | 'created' | 'updated' | 'deleted' | 'foreign' };
        failures: readonly unknown[];
      }
    | undefined;
  joined: number;
  left: number;
  updated: number;
}

/** Characters of a reason on a terminal; `describe` shows it whole. */
const NOTE_WIDTH = 120;

interface SummaryOptions {
  /** Of each line, as ` (dry run)`. */
  suffix: string;
  /** A reason is cut; in a pipe it is not. */
  isTerminal: boolean;
}

/** Without the last newline, and without the errors of failed writes. */
export function renderSummaries(pools: ReconciledPool[], options: SummaryOptions, style: Style): string {
  const rows = pools.map(pool => {
    const why = note(pool);
    const shown = options.isTerminal ? shorten(why, NOTE_WIDTH) : why;
    const text = [shown, options.suffix.trimStart()].filter(Boolean).join('  ');
    return [...summaryCells(pool, style), text];
  });
  return renderTable(rows, DESCRIBE);
}

function summaryCells(summary: ReconciledPool, style: Style): Cell[] {
  const { pool, outcome } = summary;
  if (outcome === undefined) return [pool, { text: 'error', paint: style.red }, '', '', ''];
  const { kind, status, failures } = outcome;
  if (kind === 'released') {
    const state =
      failures.length > 0 ? { text: 'failing', paint: style.red } : { text: 'released', paint: style.green };
    return [pool, state, `${plural(summary.left, 'node')} released`, '', ''];
  }
  if (kind === 'interrupted') {
    return [pool, { text: 'interrupted', paint: style.yellow }, `(${changes(summary)})`, '', ''];
  }
  return [
    pool,
    statusCell(writtenPool(pool, status), style),
    `${plural(status?.nodeCount ?? 0, 'node')} (${changes(summary)})`,
    `cpu ${poolResource(status, 'cpu')}`,
    `memory ${poolResource(status, 'memory')}`,
  ];
}

/** The pool as its status says: that was written just now. */
function writtenPool(name: string, status: NodePoolStatus | undefined): NodePool {
  const paused = unfinishedRollout(status)?.reason === 'Paused';
  return { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec: { paused }, ...defined({ status }) };
}

function changes({ joined, left, updated, outcome }: ReconciledPool): string {
  const runtimeClass = outcome?.runtimeClass.kind ?? 'unchanged';
  const said = [
    ...(joined > 0 ? [`${joined} joined`] : []),
    ...(left > 0 ? [`${left} left`] : []),
    ...(updated > 0 ? [`${updated} updated`] : []),
    ...(runtimeClass === 'unchanged' || runtimeClass === 'foreign' ? [] : [`RuntimeClass ${runtimeClass}`]),
  ];
  return said.join(', ') || 'unchanged';
}

/** Why a pool is not 200, what others keep changing, or what a rollout has left to do. */
function note({ outcome }: ReconciledPool): string {
  if (outcome === undefined) return 'not reconciled';
  const failed = outcome.failures.length;
  if (failed > 0) return `${plural(failed, 'write')} failed`;
  if (outcome.kind === 'interrupted') return '';
  const { status } = outcome;
  const trouble = status?.status === 200 ? undefined : troubleIn(status)?.message;
  return [...new Set([trouble, contestIn(status), unfinishedRollout(status)?.message])].filter(Boolean).join('; ');
}
