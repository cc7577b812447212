/** Events of pools: the table of `events`, and the section of `describe`. */
import { noun } from '../nodepool/plural.ts';
import type { PoolEventRecord } from '../operations/ports.ts';
import { MESSAGE_WIDTH, NONE, REASON_WIDTH, shorten } from './cells.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import { type Cell, tablePrinter } from './table.ts';
import { formatAge } from './time.ts';

export type EventRow = Omit<PoolEventRecord, 'poolUid'>;

/** The longest name that the server accepts. */
const NAME_WIDTH = 253;

/** The event with texts that fit a screen: through core/v1 others may write at any length. */
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

/** @param event as shortEvent() has it */
export function eventTypeCell({ type }: EventRow, style: Style): Cell {
  return type === 'Warning' ? { text: type, paint: style.yellow } : type;
}

/**
 * The first call gives the table, later ones more rows.
 * @param terminalWidth to which messages are wrapped
 */
export function eventsPrinter(
  headers: boolean,
  style: Style,
  terminalWidth?: number,
): (events: EventRow[], now: Date) => string {
  const render = tablePrinter(headers ? ['LAST SEEN', 'TYPE', 'REASON', 'POOL', 'MESSAGE'] : undefined, terminalWidth);
  return (events, now) =>
    render(
      events
        .map(shortEvent)
        .map(event => [seen(event, now), eventTypeCell(event, style), event.reason, event.pool, event.note]),
    );
}

/** ` for pool a`, in the message that there are none; undefined: all pools. */
export function ofPools(names: readonly string[] | undefined): string {
  return names === undefined ? '' : ` for ${noun(names.length, 'pool')} ${names.map(sanitizeLine).join(', ')}`;
}

/** Columns and rows as `kubectl describe` has them. */
export function describeEvents(events: EventRow[], now: Date, style: Style): { columns: string[]; rows: Cell[][] } {
  return {
    columns: ['Type', 'Reason', 'Age', 'From', 'Message'],
    rows: events
      .map(shortEvent)
      .map(event => [eventTypeCell(event, style), event.reason, seen(event, now), event.reporter || NONE, event.note]),
  };
}

/** `5m`, or `5m (x3 over 2h)` for a repeated event. */
function seen({ lastSeen, firstSeen, count }: EventRow, now: Date): string {
  const age = formatAge(lastSeen, now);
  return count > 1 ? `${age} (x${count} over ${formatAge(firstSeen, now)})` : age;
}
