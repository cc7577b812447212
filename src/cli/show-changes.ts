/** `get --watch` and `events --watch`: prints what there is, then every change, until Ctrl-C or until nobody reads. */
import { systemClock } from '../controller/clock.ts';
import type { Log } from '../controller/log.ts';
import { oldestFirst } from '../operations/event-order.ts';
import { follow } from '../operations/follow.ts';
import type { PoolEventRecord, RawPool, Watched } from '../operations/ports.ts';
import { oneLine } from '../render/error.ts';
import { growingEvents } from '../render/events.ts';
import { objectStream } from '../render/object-stream.ts';
import { growingPools } from '../render/pools.ts';
import type { ObjectFormat } from '../render/printers.ts';
import { makeStyle } from '../render/style.ts';
import type { Connection } from './factory.ts';
import type { Io } from './io.ts';
import { EXIT } from './report-error.ts';
import { leaveSoon, onStopSignal } from './signals.ts';

/** From which -v on the course of a watch is told, as for reconcile --watch. Troubles always are. */
const INFO_VERBOSITY = 4;

export interface PoolChanges {
  names: string[];
  selector: string | undefined;
  output: 'wide' | ObjectFormat | undefined;
  headers: boolean;
  verbosity: number;
}

export interface EventChanges {
  pool: string | undefined;
  headers: boolean;
  verbosity: number;
}

/** Returns the exit code. */
export function showPoolChanges(
  { names, selector, output, headers, verbosity }: PoolChanges,
  io: Io,
  connection: Connection,
): Promise<number> {
  const byNames = (a: RawPool, b: RawPool) =>
    names.indexOf(a.metadata.name) - names.indexOf(b.metadata.name) || (a.metadata.name < b.metadata.name ? -1 : 1);
  const print = (pools: RawPool[]) => io.out(render(pools));
  const render = poolRenderer(output, headers, io);
  return showChanges<RawPool>(
    {
      resource: 'nodepools.nodes.lailin.xyz',
      watched: connection.follow.pools({ names, labelSelector: selector }),
      onStart(pools) {
        if (pools.length > 0) print(pools.toSorted(byNames));
        else if (output === undefined || output === 'wide') io.err('No pools found; waiting for one.');
      },
      onChanged: pool => print([pool]),
      onDeleted: pool => print([pool]),
    },
    verbosity,
    io,
  );
}

/** Returns the exit code. */
export function showEventChanges(
  { pool, headers, verbosity }: EventChanges,
  io: Io,
  connection: Connection,
): Promise<number> {
  const render = growingEvents({ headers }, makeStyle(io.color));
  const print = (events: PoolEventRecord[]) => io.out(render(events, io.now()));
  return showChanges<PoolEventRecord>(
    {
      resource: 'events.events.k8s.io',
      watched: connection.follow.events(pool),
      onStart(events) {
        if (events.length > 0) print(events.toSorted(oldestFirst));
        else io.err(`No events found${pool === undefined ? '' : ` for pool ${pool}`}; waiting for one.`);
      },
      onChanged: event => print([event]),
      // The server forgets events after an hour.
      onDeleted() {},
    },
    verbosity,
    io,
  );
}

function poolRenderer(output: PoolChanges['output'], headers: boolean, io: Io): (pools: RawPool[]) => string {
  if (output === undefined || output === 'wide') {
    const render = growingPools({ wide: output === 'wide', headers }, makeStyle(io.color));
    return pools => render(pools, io.now());
  }
  const render = objectStream(output);
  return pools => pools.map(render).join('\n');
}

interface Changes<T> {
  resource: string;
  watched: Watched<T | undefined>;
  onStart: (objects: T[]) => void;
  onChanged: (object: T) => void;
  onDeleted: (object: T) => void;
}

async function showChanges<T>(changes: Changes<T>, verbosity: number, io: Io): Promise<number> {
  const over = new AbortController();
  const stop = () => over.abort();
  const log: Log = (level, message) => {
    const text = oneLine(message.replaceAll('\n', ' '));
    if (level === 'warning' || level === 'error') io.err(`${level}: ${text}`);
    else if (verbosity >= INFO_VERBOSITY) io.err(text);
  };
  const end = onStopSignal(stop);
  // Whoever read has gone (`| head`): io.ts keeps that from being an error.
  io.stdout.once('error', stop);
  try {
    await follow({ ...changes, signal: over.signal }, { clock: systemClock, random: Math.random, log });
    return EXIT.done;
  } finally {
    leaveSoon();
    end();
    io.stdout.off('error', stop);
  }
}
