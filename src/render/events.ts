/** Events about pools: the table of `kubectl nodepool events`, and the section of `describe`. */
import type { PoolEventRecord } from '../operations/ports.ts';
import { NONE } from './cells.ts';
import type { Style } from './style.ts';
import { type Cell, growingTable } from './table.ts';
import { formatAge } from './time.ts';

export type EventRow = Omit<PoolEventRecord, 'poolUid'>;

/** In the order given. */
export function renderEvents(events: EventRow[], options: { headers: boolean; now: Date }, style: Style): string {
  return growingEvents(options, style)(events, options.now);
}

/** The first call gives the table, later ones more rows of it. */
export function growingEvents(
  { headers }: { headers: boolean },
  style: Style,
): (events: EventRow[], now: Date) => string {
  const render = growingTable(['LAST SEEN', 'TYPE', 'REASON', 'POOL', 'MESSAGE'], { headers });
  return (events, now) =>
    render(
      events.map(event => [seen(event, now), typeCell(event, style), event.reason, event.pool, event.note.trim()]),
    );
}

/** Columns and rows as `kubectl describe` has them. */
export function describeEvents(events: EventRow[], now: Date, style: Style): { columns: string[]; rows: Cell[][] } {
  return {
    columns: ['Type', 'Reason', 'Age', 'From', 'Message'],
    rows: events.map(event => [
      typeCell(event, style),
      event.reason,
      seen(event, now),
      event.reporter || NONE,
      event.note.trim(),
    ]),
  };
}

function typeCell({ type }: EventRow, style: Style): Cell {
  return type === 'Warning' ? { text: type, paint: style.yellow } : type;
}

/** `5m`, or `5m (x3 over 2h)` for an event that came again. */
function seen({ lastSeen, firstSeen, count }: EventRow, now: Date): string {
  const age = formatAge(lastSeen, now);
  return count > 1 ? `${age} (x${count} over ${formatAge(firstSeen, now)})` : age;
}
