/** Events about pools: the table of `kubectl nodepool events`, and the section of `describe`. */
import type { PoolEventRecord } from '../operations/ports.ts';
import { MESSAGE_WIDTH, NONE, REASON_WIDTH, shorten } from './cells.ts';
import type { Style } from './style.ts';
import { type Cell, growingTable } from './table.ts';
import { formatAge } from './time.ts';

export type EventRow = Omit<PoolEventRecord, 'poolUid'>;

/** Longer ones are cut: through core/v1 others may write anything there. */
const NAME_WIDTH = 253;

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
      events.map(event => [
        seen(event, now),
        typeCell(event, style),
        shorten(event.reason, REASON_WIDTH),
        shorten(event.pool, NAME_WIDTH),
        shorten(event.note.trim(), MESSAGE_WIDTH),
      ]),
    );
}

/** Columns and rows as `kubectl describe` has them. */
export function describeEvents(events: EventRow[], now: Date, style: Style): { columns: string[]; rows: Cell[][] } {
  return {
    columns: ['Type', 'Reason', 'Age', 'From', 'Message'],
    rows: events.map(event => [
      typeCell(event, style),
      shorten(event.reason, REASON_WIDTH),
      seen(event, now),
      shorten(event.reporter, REASON_WIDTH) || NONE,
      shorten(event.note.trim(), MESSAGE_WIDTH),
    ]),
  };
}

function typeCell({ type }: EventRow, style: Style): Cell {
  return type === 'Warning' ? { text: type, paint: style.yellow } : shorten(type, REASON_WIDTH);
}

/** `5m`, or `5m (x3 over 2h)` for an event that came again. */
function seen({ lastSeen, firstSeen, count }: EventRow, now: Date): string {
  const age = formatAge(lastSeen, now);
  return count > 1 ? `${age} (x${count} over ${formatAge(firstSeen, now)})` : age;
}
