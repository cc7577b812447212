/** The maintenance of nodes: in tables as one word, in JSON, and what a command begins. */
import {
  isOverdue,
  type MaintenanceState,
  maintenanceOf,
  type Owner,
  ownerText,
} from '../../../nodepool/drain/maintenance.ts';
import type { RequestedMaintenance } from '../../../nodepool/drain/plan-cordon.ts';
import type { Node } from '../../../nodepool/types.ts';
import { NONE, withoutSpaces } from '../../../print/cells.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import type { Cell } from '../../../print/table.ts';
import { formatDuration } from '../../../print/time.ts';
import { cut } from '../../../print/width.ts';

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];
/** From here on, formatDuration() shows whole minutes. */
const NO_SECONDS_MS = 10 * MINUTE_MS;

type Subject = Pick<Node, 'uid' | 'unschedulable' | 'maintenance'>;

/** `alice(2h-left):kernel_upgrade`, `bob(overdue-30m)`, `stale:alice`. One word: scripts split tables at spaces. */
export function maintenanceCell(node: Subject, now: Date, width: number, style: Style): Cell {
  const state = maintenanceOf(node);
  if (state === undefined) return NONE;
  const text = cut(withoutSpaces(cellText(state, now)), width);
  if (state.kind === 'active' && !isOverdue(state.maintenance, now)) return text;
  return { text, paint: state.kind === 'active' ? style.red : style.yellow };
}

function cellText(state: MaintenanceState, now: Date): string {
  if (state.kind === 'unreadable') return 'unreadable';
  const { owner, reason, until } = state.maintenance;
  if (state.kind === 'stale') return `stale:${ownerName(owner)}`;
  const end = until === undefined ? '' : `(${endText(until, now)})`;
  return `${ownerName(owner)}${end}${reason === undefined ? '' : `:${reason}`}`;
}

/** `2h-left`, `overdue-30m`. */
function endText(until: string, now: Date): string {
  const left = Date.parse(until) - now.getTime();
  return left > 0 ? `${formatLeft(left)}-left` : `overdue-${formatDuration(-left)}`;
}

/** Rounded up to the unit that is shown: what was set to 3 days is not shown as 2 days and 23 hours. */
function formatLeft(milliseconds: number): string {
  const unit = milliseconds > NO_SECONDS_MS ? MINUTE_MS : SECOND_MS;
  return formatDuration(Math.ceil(milliseconds / unit) * unit);
}

function ownerName({ name, from }: Owner): string {
  return from === 'server' ? name : `${name}(kubeconfig)`;
}

/** In a sentence, for a screen of one node: `alice since …, until … (in 2h): kernel upgrade`. */
export function maintenanceLine(node: Subject, now: Date): string | undefined {
  const state = maintenanceOf(node);
  if (state === undefined) return undefined;
  if (state.kind === 'unreadable') return 'the annotation cannot be read';
  const { owner, since, until, reason } = state.maintenance;
  const stale = state.kind === 'stale' ? ` (stale: the node ${staleReason(state.why)})` : '';
  const end = until === undefined ? '' : `, until ${until} (${relativeEnd(until, now)})`;
  return `${ownerText(owner)} since ${since}${end}${reason === undefined ? '' : `: ${reason}`}${stale}`;
}

function staleReason(why: 'schedulable' | 'recreated'): string {
  return why === 'schedulable' ? 'is schedulable' : 'is another one';
}

/** `in 2h`, `overdue for 30m`. */
function relativeEnd(until: string, now: Date): string {
  const left = Date.parse(until) - now.getTime();
  return left > 0 ? `in ${formatLeft(left)}` : `overdue for ${formatDuration(-left)}`;
}

/** What a command is about to write, with the time that `--until` means. */
export function requestedText(owner: Owner, { reason, until }: RequestedMaintenance, now: Date): string {
  const end = until === undefined ? '' : ` until ${until} (${relativeEnd(until, now)})`;
  return sanitizeLine(`Maintenance of ${ownerText(owner)}${end}${reason === undefined ? '' : `: ${reason}`}`);
}

/** In JSON; null without one. */
export function maintenanceItem(node: Subject, now: Date): Record<string, unknown> | null {
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
