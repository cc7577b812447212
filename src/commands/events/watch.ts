/** `events --watch`: prints the current events, then each new or repeated event. */
import type { Io } from '../../cli/io.ts';
import type { PoolEventObject, PoolEventRecord } from '../../kube/resources/events.ts';
import { objectStream } from '../../print/printers.ts';
import { oldestFirst } from '../shared/describe/print-timeline.ts';
import { type FollowChanges, type FollowFlags, showChanges } from '../shared/follow.ts';
import { type ChosenEvents, eventsPrinter, ofPools } from './run.ts';

interface EventChanges extends FollowFlags {
  /** Undefined: all pools. */
  pools: readonly string[] | undefined;
  /** Undefined: a table. */
  output: 'json' | 'yaml' | undefined;
  headers: boolean;
}

/** Returns the exit code. */
export function showEventChanges(
  { pools, output, headers, ...options }: EventChanges,
  io: Io,
  events: ChosenEvents,
): Promise<number> {
  const changes = <T extends PoolEventRecord>(print: (events: T[]) => void): Omit<FollowChanges<T>, 'watched'> => ({
    resource: 'events.events.k8s.io',
    onStart(found) {
      if (found.length > 0) print(found.toSorted(oldestFirst));
      else io.err(`No events found${ofPools(pools)}; watching for new events.`);
    },
    onChanged: event => print([event]),
    // The server expires events after an hour.
    onDeleted() {},
  });
  if (output === undefined) {
    const render = eventsPrinter(headers, io);
    const rows = changes<PoolEventRecord>(found => io.out(render(found, io.serverNow())));
    return showChanges({ ...rows, watched: events.watch() }, options, io);
  }
  const render = objectStream(output, false);
  const objects = changes<PoolEventObject>(found => {
    for (const { object } of found) io.out(render(object, 'ADDED'));
  });
  return showChanges({ ...objects, watched: events.watchObjects() }, options, io);
}
