/** The result of a reconcile, one line per pool. */

import { stripVTControlCharacters } from 'node:util';
import { defined } from '../../../nodepool/json.ts';
import { contestIn, troubleIn, unfinishedRollout } from '../../../nodepool/status/status.ts';
import { plural } from '../../../nodepool/text.ts';
import { API_VERSION, type NodePool, type NodePoolStatus } from '../../../nodepool/types.ts';
import { poolResource, statusCell } from '../../../print/cells.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import { type Cell, columnWidths, DESCRIBE, renderTable } from '../../../print/table.ts';
import { widthOf, wrapWords } from '../../../print/width.ts';

export interface ReconciledPool {
  pool: string;
  /** Undefined if the reconcile failed or was not started. */
  outcome:
    | {
        kind: 'reconciled' | 'released' | 'interrupted';
        status: NodePoolStatus | undefined;
        runtimeClass: { kind: 'unchanged' | 'created' | 'updated' | 'deleted' | 'foreign' };
        failures: readonly unknown[];
        /** For a rollout: milliseconds until its next step, if known. */
        settlesAfterMs?: number;
      }
    | undefined;
  joined: number;
  left: number;
  updated: number;
}

interface SummaryOptions {
  /** The end of each line, such as ` (dry run)`. */
  suffix: string;
  /** Longer reasons get a line of their own, wrapped to this width; undefined: they stay in the pool's line. */
  terminalWidth: number | undefined;
  /** Also says how the rollout continues, for a run that makes one step. */
  isOneStep: boolean;
}

const INDENT = '  ';

/** Without the last newline, and without errors of failed writes. */
export function renderSummaries(
  pools: ReconciledPool[],
  { suffix, terminalWidth = Infinity, isOneStep }: SummaryOptions,
  style: Style,
): string {
  const cells = pools.map(pool => summaryCells(pool, style));
  const widths = columnWidths(cells);
  const lines = pools.map((pool, at) => {
    const row = cells[at] ?? [];
    const why = note(pool, isOneStep);
    const whole = renderTable(
      [[...row, [why, suffix.trimStart()].filter(Boolean).join('  ')]],
      DESCRIBE,
      Infinity,
      widths,
    );
    if (why === '' || widthOf(stripVTControlCharacters(whole)) <= terminalWidth) return whole;
    const first = renderTable([[...row, suffix.trimStart()]], DESCRIBE, Infinity, widths);
    const reason = wrapWords(sanitizeLine(why), terminalWidth - INDENT.length, '').map(line => INDENT + line);
    return [first, ...reason].join('\n');
  });
  return lines.join('\n');
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
    `${plural(status?.nodeCount ?? 0, 'node')}${notReady(status)} (${changes(summary)})`,
    `cpu ${poolResource(status, 'cpu')}`,
    `memory ${poolResource(status, 'memory')}`,
  ];
}

/** `, 1 NotReady`; empty if all nodes are Ready, and if none is: then the status says so. */
function notReady({ nodeCount = 0, readyNodeCount = nodeCount }: Partial<NodePoolStatus> = {}): string {
  return readyNodeCount > 0 && readyNodeCount < nodeCount ? `, ${nodeCount - readyNodeCount} NotReady` : '';
}

/** The pool according to its status, which was just written. */
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

/** The pool's problem, what others keep changing, or what a rollout still has to do. */
function note({ pool, outcome }: ReconciledPool, isOneStep: boolean): string {
  if (outcome === undefined) return 'not reconciled';
  const failed = outcome.failures.length;
  if (failed > 0) return `${plural(failed, 'write')} failed`;
  if (outcome.kind === 'interrupted') return '';
  const { status } = outcome;
  const trouble = status?.status === 200 ? undefined : troubleIn(status)?.message;
  const rollout = unfinishedRollout(status);
  const isGoingOn = isOneStep && rollout?.reason === 'RolloutInProgress';
  const next = isGoingOn ? nextSteps(pool, outcome.settlesAfterMs) : undefined;
  return [...new Set([trouble, contestIn(status), rollout?.message, next])].filter(Boolean).join('; ');
}

function nextSteps(pool: string, afterMs: number | undefined): string {
  const due = afterMs === undefined ? '' : `the next step is due in ${Math.max(1, Math.ceil(afterMs / 1000))}s; `;
  return `${due}to continue, run \`kubectl nodepool reconcile ${pool} --wait\``;
}
