/** `events --watch`: prints the current events, then each new or repeated one. */
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { oldestFirst } from '../../operations/event-order.ts';
import type { PoolEventRecord } from '../../operations/ports.ts';
import { eventsPrinter } from '../../render/events.ts';
import { sanitizeLine } from '../../render/sanitize.ts';
import { makeStyle } from '../../render/style.ts';
import { showChanges } from '../shared/show-changes.ts';

/** Returns the exit code. */
export function showEventChanges(
  { pool, headers, verbosity }: { pool: string | undefined; headers: boolean; verbosity: number },
  io: Io,
  connection: Connection,
): Promise<number> {
  const render = eventsPrinter(headers, makeStyle(io.color));
  const print = (events: PoolEventRecord[]) => io.out(render(events, io.now()));
  return showChanges<PoolEventRecord>(
    {
      resource: 'events.events.k8s.io',
      watched: connection.events.watch(pool),
      onStart(events) {
        if (events.length > 0) print(events.toSorted(oldestFirst));
        else io.err(`No events found${pool === undefined ? '' : ` for pool ${sanitizeLine(pool)}`}; waiting for one.`);
      },
      onChanged: event => print([event]),
      // The server expires events after an hour.
      onDeleted() {},
    },
    verbosity,
    io,
  );
}
