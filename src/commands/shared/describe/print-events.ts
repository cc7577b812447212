/** Events of pools: the section of `describe`, and the cells of `view`. */
import type { PoolEventRecord } from '../../../kube/resources/events.ts';
import { MESSAGE_WIDTH, NONE, REASON_WIDTH, shorten } from '../../../print/cells.ts';
import type { Style } from '../../../print/style.ts';
import type { Cell } from '../../../print/table.ts';
import { formatAge } from '../../../print/time.ts';
import { shortList } from '../changes/blocks.ts';

export type EventRow = Omit<PoolEventRecord, 'poolUid'>;

/** The server's limit for names. */
const NAME_WIDTH = 253;

/** The event with texts short enough for a screen: core/v1 Events of others may be of any length. */
export function shortEvent<Event extends EventRow>(event: Event): Event {
  return {
    ...event,
    pool: shorten(event.pool, NAME_WIDTH),
    type: shorten(event.type, REASON_WIDTH),
    reason: shorten(event.reason, REASON_WIDTH),
    reporter: shorten(event.reporter, REASON_WIDTH),
    note: shorten(event.note.trim(), MESSAGE_WIDTH),
  };
}

/** @param event returned by shortEvent() */
export function eventTypeCell({ type }: EventRow, style: Style): Cell {
  return type === 'Warning' ? { text: type, paint: style.yellow } : type;
}

/** The columns and rows of `kubectl describe`. */
export function describeEvents(
  events: EventRow[],
  now: Date,
  style: Style,
  terminalWidth?: number,
): { columns: string[]; rows: Cell[][] } {
  return {
    columns: ['Type', 'Reason', 'Age', 'From', 'Message'],
    rows: events
      .map(shortEvent)
      .map(event => [
        eventTypeCell(event, style),
        event.reason,
        seen(event, now),
        event.reporter || NONE,
        shortList(event.note, terminalWidth),
      ]),
  };
}

/** `5m`, or `5m (x3 over 2h)` for a repeated event; `5m (x3)` if space is short. */
function seen({ lastSeen, firstSeen, count }: EventRow, now: Date, width = Infinity): string {
  const age = formatAge(lastSeen, now);
  if (count <= 1) return age;
  const text = `${age} (x${count} over ${formatAge(firstSeen, now)})`;
  return text.length <= width ? text : `${age} (x${count})`;
}

type LastSeen = Pick<PoolEventRecord, 'lastSeen'>;

/** Sorts by last occurrence. The server omits a zero fraction, so `01Z` must come before `01.9Z`. */
export function oldestFirst(a: LastSeen, b: LastSeen): number {
  const [first, second] = [instant(a), instant(b)];
  if (first.ms !== second.ms) return first.ms - second.ms;
  return first.fraction < second.fraction ? -1 : first.fraction > second.fraction ? 1 : 0;
}

/** A Date has milliseconds, an Event microseconds. An invalid time counts as oldest. */
function instant({ lastSeen }: LastSeen): { ms: number; fraction: string } {
  const ms = Date.parse(lastSeen);
  const [, fraction = ''] = /\.(\d+)/.exec(lastSeen) ?? [];
  return { ms: Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms, fraction: fraction.padEnd(9, '0') };
}
