/** `get --watch` and `events --watch`: prints what there is, then every change, until Ctrl-C or until nobody reads. */

import { systemClock } from '../controller/clock.ts';
import type { Log } from '../controller/log.ts';
import { oldestFirst } from '../operations/event-order.ts';
import { type ChangeType, follow } from '../operations/follow.ts';
import type { PoolEventRecord, RawPool, Watched } from '../operations/ports.ts';
import { oneLine } from '../render/error.ts';
import { growingEvents } from '../render/events.ts';
import { objectStream } from '../render/object-stream.ts';
import type { ObjectTemplate } from '../render/object-template.ts';
import { growingPools, type PoolsTableOptions } from '../render/pools.ts';
import type { ObjectFormat } from '../render/printers.ts';
import { sanitizeLine } from '../render/sanitize.ts';
import { makeStyle } from '../render/style.ts';
import type { Connection } from './factory.ts';
import type { Io } from './io.ts';
import { EXIT } from './report-error.ts';
import { leaveSoon, onStopSignal } from './signals.ts';

/** From which -v on the course of a watch is told, as for reconcile --watch. Troubles always are. */
const INFO_VERBOSITY = 4;

/** Columns, a format of objects, or a template. */
export type PoolOutput = Omit<PoolsTableOptions, 'now'> | ObjectFormat | ObjectTemplate;

export interface PoolChanges {
  names: string[];
  selector: string | undefined;
  fieldSelector: string | undefined;
  output: PoolOutput;
  /** Each pool with what happened to it. */
  asEvents: boolean;
  /** What there is at first is not shown. */
  changesOnly: boolean;
  /** Puts what there is at first in order. */
  sort: (pools: RawPool[]) => RawPool[];
  verbosity: number;
}

export interface EventChanges {
  pool: string | undefined;
  headers: boolean;
  verbosity: number;
}

/** Returns the exit code. */
export function showPoolChanges(changes: PoolChanges, io: Io, connection: Connection): Promise<number> {
  const { names, selector: labelSelector, fieldSelector, output, changesOnly, sort, verbosity } = changes;
  const byNames = (a: RawPool, b: RawPool) =>
    names.indexOf(a.metadata.name) - names.indexOf(b.metadata.name) || (a.metadata.name < b.metadata.name ? -1 : 1);
  const render = poolRenderer(changes, io);
  const print = (pools: RawPool[], type: ChangeType) => io.write(render(pools, type));
  return showChanges<RawPool>(
    {
      resource: 'nodepools.nodes.lailin.xyz',
      watched: connection.follow.pools({ names, labelSelector, fieldSelector }),
      onStart(pools) {
        if (changesOnly) return;
        if (pools.length > 0) print(sort(pools.toSorted(byNames)), 'ADDED');
        else if (typeof output === 'object') io.err('No pools found; waiting for one.');
      },
      onChanged: (pool, type) => print([pool], type),
      onDeleted: pool => print([pool], 'DELETED'),
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
        else io.err(`No events found${pool === undefined ? '' : ` for pool ${sanitizeLine(pool)}`}; waiting for one.`);
      },
      onChanged: event => print([event]),
      // The server forgets events after an hour.
      onDeleted() {},
    },
    verbosity,
    io,
  );
}

function poolRenderer({ output, asEvents }: PoolChanges, io: Io): (pools: RawPool[], type: ChangeType) => string {
  if (typeof output === 'object') {
    const render = growingPools(output, makeStyle(io.color));
    return (pools, type) => `${render(pools, io.now(), asEvents ? type : undefined)}\n`;
  }
  if (typeof output === 'string') {
    const render = objectStream(output, asEvents);
    return (pools, type) => pools.map(pool => `${render(pool, type)}\n`).join('');
  }
  const print = output();
  return (pools, type) => print(asEvents ? pools.map(object => ({ type, object })) : pools);
}

interface Changes<T> {
  resource: string;
  watched: Watched<T | undefined>;
  onStart: (objects: T[]) => void;
  onChanged: (object: T, type: 'ADDED' | 'MODIFIED') => void;
  onDeleted: (object: T) => void;
}

async function showChanges<T>(changes: Changes<T>, verbosity: number, io: Io): Promise<number> {
  const over = new AbortController();
  const stop = () => over.abort();
  let failure: { error: unknown } | undefined;
  /** What cannot be printed ends the watch: the next change would fail the same. */
  const guarded =
    <A extends unknown[]>(show: (...args: A) => void) =>
    (...args: A) => {
      try {
        if (failure === undefined) show(...args);
      } catch (error) {
        failure = { error };
        stop();
      }
    };
  const log: Log = (level, message) => {
    const text = oneLine(message.replaceAll('\n', ' '));
    if (level === 'warning' || level === 'error') io.err(`${level}: ${text}`);
    else if (verbosity >= INFO_VERBOSITY) io.err(text);
  };
  const end = onStopSignal(stop);
  // Whoever read has gone (`| head`): io.ts keeps that from being an error.
  io.stdout.once('error', stop);
  try {
    const { resource, watched, onStart, onChanged, onDeleted } = changes;
    const told = { onStart: guarded(onStart), onChanged: guarded(onChanged), onDeleted: guarded(onDeleted) };
    const deps = { clock: systemClock, random: Math.random, log };
    await follow({ resource, watched, ...told, signal: over.signal }, deps);
    if (failure !== undefined) throw failure.error;
    return EXIT.done;
  } finally {
    leaveSoon();
    end();
    io.stdout.off('error', stop);
  }
}
