import { type Io, terminalWidth } from '../../cli/io.ts';
import type { PoolEventRecord } from '../../kube/resources/events.ts';
import { noun } from '../../nodepool/text.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import { makeStyle } from '../../print/style.ts';
import { eventEntry, timelinePrinter } from '../shared/describe/print-timeline.ts';

/** The first call returns the table, later calls return further rows. */
export function eventsPrinter(headers: boolean, io: Io): (events: PoolEventRecord[], now: Date) => string {
  const table = { wide: false, headers, terminalWidth: terminalWidth(io) };
  const render = timelinePrinter('Events', table, makeStyle(io.color));
  return (events, now) =>
    render(
      events.map(event => eventEntry(event, { pool: event.pool })),
      now,
    );
}

/** ` for pool a`, for the message that there are no events; undefined: all pools. */
export function ofPools(names: readonly string[] | undefined): string {
  return names === undefined ? '' : ` for ${noun(names.length, 'pool')} ${names.map(sanitizeLine).join(', ')}`;
}
