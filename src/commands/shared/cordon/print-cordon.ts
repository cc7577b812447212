/** Messages about cordoned and uncordoned nodes, in kubectl's wording: for `cordon`, `uncordon`, `drain` and `view`. */
import { showError } from '../../../cli/errors.ts';
import type { Io } from '../../../cli/io.ts';
import {
  isOverdue,
  type MaintenanceOwner,
  type MaintenanceState,
  maintenanceOf,
  ownerText,
} from '../../../nodepool/drain/maintenance.ts';
import type { CordonedNode, MaintenanceChange, RequestedMaintenance } from '../../../nodepool/drain/plan-cordon.ts';
import { NONE, withoutSpaces } from '../../../print/cells.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import type { Cell } from '../../../print/table.ts';
import { formatDuration } from '../../../print/time.ts';
import { cut, widthOf } from '../../../print/width.ts';
import type { CordonResult } from './cordon.ts';

/** A line for stdout or stderr, or an error, which the caller formats. */
export type NodeLine =
  | { to: 'out' | 'err'; text: string }
  | { to: 'error'; message: string; next?: string | undefined };

/** @param suffix of the message, such as ` (dry run)` */
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
      return cordonError(action, name, result.error);
  }
}

/** The line for a cordoned node is the same as kubectl's, even if a maintenance begins. */
function changeText(change: MaintenanceChange | undefined, kind: CordonResult['kind']): string {
  switch (change?.kind) {
    case undefined:
      return '';
    case 'begun':
      return kind === 'changed' ? '' : '; maintenance started';
    case 'updated':
      return '; maintenance updated';
    case 'taken over':
      return `; maintenance taken over from ${sanitizeLine(ownerText(change.from))}`;
    case 'ended':
      return `; maintenance by ${sanitizeLine(ownerText(change.from))} ended`;
    case 'removed': {
      const { from } = change;
      const what = from === undefined ? 'unreadable maintenance' : `stale maintenance by ${ownerText(from)}`;
      return `; ${sanitizeLine(what)} removed`;
    }
  }
}

export function cordonError(
  action: string,
  node: string,
  { message, next }: { message: string; next: string | undefined },
): NodeLine {
  return { to: 'error', message: `unable to ${action} node "${node}": ${message}`, next };
}

/** Prints a line to its stream. The renderer has escaped its text; showError() escapes an error. */
export function printLine(line: NodeLine, io: Io): void {
  if (line.to === 'out') io.out(line.text);
  else if (line.to === 'error') showError(io, line);
  else io.err(line.text);
}

// The maintenance of nodes: as one word in tables, as JSON, and as announced by a command.

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];
/** From here on, formatDuration() shows whole minutes. */
const NO_SECONDS_MS = 10 * MINUTE_MS;

/**
 * `alice(2h-left):kernel_upgrade`, `bob(overdue-30m)`, `stale:alice`; `2h-left:kernel_upgrade` if the width is too small
 * for the owner. One word: scripts split tables at spaces.
 */
export function maintenanceCell(node: CordonedNode, now: Date, width: number, style: Style): Cell {
  const state = maintenanceOf(node);
  if (state === undefined) return NONE;
  const text = cut(withoutSpaces(cellText(state, now, width)), width);
  if (state.kind === 'active' && !isOverdue(state.maintenance, now)) return text;
  return { text, paint: state.kind === 'active' ? style.red : style.yellow };
}

function cellText(state: MaintenanceState, now: Date, width: number): string {
  if (state.kind === 'unreadable') return 'unreadable';
  const { owner, reason, until } = state.maintenance;
  if (state.kind === 'stale') return `stale:${ownerName(owner)}`;
  const end = until === undefined ? [] : [endText(until, now)];
  const why = reason === undefined ? [] : [reason];
  const whole = [ownerName(owner) + end.map(text => `(${text})`).join(''), ...why].join(':');
  return widthOf(whole) <= width || end.length + why.length === 0 ? whole : [...end, ...why].join(':');
}

/** `2h-left`, `overdue-30m`. */
function endText(until: string, now: Date): string {
  const remainingMs = Date.parse(until) - now.getTime();
  return remainingMs > 0 ? `${formatLeft(remainingMs)}-left` : `overdue-${formatDuration(-remainingMs)}`;
}

/** Rounded up to the displayed unit: an end set to 3 days must not appear as 2 days and 23 hours. */
function formatLeft(milliseconds: number): string {
  const unit = milliseconds > NO_SECONDS_MS ? MINUTE_MS : SECOND_MS;
  return formatDuration(Math.ceil(milliseconds / unit) * unit);
}

function ownerName({ name, from }: MaintenanceOwner): string {
  return from === 'server' ? name : `${name}(kubeconfig)`;
}

/** A sentence for the screen of one node: `alice since …, until … (2h left): kernel upgrade`. */
export function maintenanceLine(node: CordonedNode, now: Date): string | undefined {
  const state = maintenanceOf(node);
  if (state === undefined) return undefined;
  if (state.kind === 'unreadable') return 'the annotation cannot be read';
  const { owner, since, until, reason } = state.maintenance;
  const stale = state.kind === 'stale' ? ` (stale: the node ${staleReason(state.why)})` : '';
  const end = until === undefined ? '' : `, until ${until} (${relativeEnd(until, now)})`;
  return `${ownerText(owner)} since ${since}${end}${reason === undefined ? '' : `: ${reason}`}${stale}`;
}

function staleReason(why: 'schedulable' | 'recreated'): string {
  return why === 'schedulable' ? 'is schedulable' : 'was recreated';
}

/** `2h left`, `overdue for 30m`. */
function relativeEnd(until: string, now: Date): string {
  const remainingMs = Date.parse(until) - now.getTime();
  return remainingMs > 0 ? `${formatLeft(remainingMs)} left` : `overdue for ${formatDuration(-remainingMs)}`;
}

/** What a command is about to write, with the resolved time of `--until`. */
export function requestedText(owner: MaintenanceOwner, { reason, until }: RequestedMaintenance, now: Date): string {
  const end = until === undefined ? '' : ` until ${until} (${relativeEnd(until, now)})`;
  return sanitizeLine(`Maintenance by ${ownerText(owner)}${end}${reason === undefined ? '' : `: ${reason}`}`);
}

/** As JSON; null without a maintenance. */
export function maintenanceItem(node: CordonedNode, now: Date): Record<string, unknown> | null {
  const state = maintenanceOf(node);
  if (state === undefined) return null;
  if (state.kind === 'unreadable') return { state: 'Unreadable' };
  const { owner, since, reason, until } = state.maintenance;
  return {
    state: state.kind === 'stale' ? 'Stale' : isOverdue(state.maintenance, now) ? 'Overdue' : 'Active',
    owner: owner.name,
    ownerFrom: owner.from,
    reason: reason ?? null,
    since,
    until: until ?? null,
  };
}

/** Maximum nodes in a suggested command: a longer line would be hard to read. */
export const MAX_COMMAND_NODES = 20;
