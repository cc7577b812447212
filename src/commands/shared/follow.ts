/** Lists, then watches with a reflector until the signal is aborted: no change is reported twice. */

import { EXIT, showNote } from '../../cli/errors.ts';
import type { Io } from '../../cli/io.ts';
import { leaveSoon, onStopSignal } from '../../cli/signals.ts';
import { type Clock, systemClock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import { Reflector } from '../../controller/reflector.ts';
import type { Source, WatchedResource } from '../../controller/source.ts';
import { Store, type StoreEvent } from '../../controller/store.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { noun } from '../../nodepool/text.ts';
import { oneLine } from '../../print/error.ts';

interface FollowOptions<T> {
  /** The name in RBAC: `nodepools.nodes.lailin.xyz`. */
  resource: string;
  /** Objects that it transforms to undefined are skipped. */
  watched: WatchedResource<T | undefined>;
  /** Called once, with the existing objects, unordered. */
  onStart: (objects: T[]) => void;
  onChanged: (object: T, type: 'ADDED' | 'MODIFIED') => void;
  /** Called with the last state of a deleted object. */
  onDeleted: (object: T) => void;
  /** Called before the first change after a restore of etcd reverts versions. The store has the restored objects. */
  onRestored?: () => void;
  /** The store of the followed objects. Only this module writes to it. */
  store?: Store<T | undefined>;
  signal: AbortSignal;
}

export interface FollowDeps {
  clock: Clock;
  /** From 0 inclusive to 1 exclusive. */
  random: () => number;
  log: Log;
}

/** Rejects on a missing permission, after onStart with what can be listed; logs and retries all other errors. */
export async function follow<T>(options: FollowOptions<T>, deps: FollowDeps): Promise<void> {
  const { resource, watched, signal, store = new Store<T | undefined>() } = options;
  const [name = resource] = resource.split('.', 1);
  let started = false;
  let refusal: NodepoolError | undefined;
  const over = Promise.withResolvers<void>();
  const stop = () => over.resolve();
  const source = detectForbidden(watched.source, (verbs, message) => {
    const [verb] = verbs;
    const role = `ask for a role with ${noun(verbs.length, 'verb')} ${verbs.join(', ')} on ${resource}`;
    const user = /User "([^"]*)" cannot /.exec(message)?.[1];
    const text = user === undefined ? `cannot ${verb} ${name}: ${message}` : `user "${user}" may not ${verb} ${name}`;
    refusal = new NodepoolError('cluster', text, role);
    stop();
  });
  let isRestored = false;
  const onRestored = () => {
    isRestored = true;
  };
  const reflector = new Reflector({ name, source, transform: watched.transform, store, onRestored, ...deps });
  reflector.subscribe(event => {
    if (!started) return;
    if (isRestored) options.onRestored?.();
    isRestored = false;
    notify(event, options);
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  reflector.start();
  await Promise.race([reflector.synced(), over.promise]);
  if (!signal.aborted && reflector.hasSynced) {
    options.onStart([...objectsOf(store)]);
    started = true;
    await over.promise;
  }
  signal.removeEventListener('abort', stop);
  await reflector.stop();
  if (refusal !== undefined) throw refusal;
}

function notify<T>(event: StoreEvent<T | undefined>, { onChanged, onDeleted }: FollowOptions<T>): void {
  const { object } = event.type === 'deleted' ? event.tombstone.item : event.item;
  if (object === undefined) return;
  if (event.type === 'deleted') onDeleted(object);
  else onChanged(object, event.type === 'added' ? 'ADDED' : 'MODIFIED');
}

/** The same source, but calls `onForbidden` if the first watch gets 403, after the list, which then reads pages. */
function detectForbidden(source: Source, onForbidden: (verbs: string[], message: string) => void): Source {
  let hasWatched = false;
  let isDenied = false;
  return {
    async list(options) {
      const page = await source.list(options);
      if (isDenied && page.kind === 'refused' && page.status === 403) onForbidden(['list', 'watch'], page.message);
      return page;
    },
    async watch(options, onLine) {
      const end = await source.watch(options, line => {
        hasWatched = true;
        onLine(line);
      });
      if (end.kind !== 'refused') hasWatched = true;
      else if (end.status === 403 && !hasWatched) {
        isDenied = true;
        // The response of a server without WatchList.
        if (options.initialEvents) return { ...end, status: 400 };
        onForbidden(['watch'], end.message);
      }
      return end;
    },
  };
}

/** Skips unselected objects, which are undefined. */
export function* objectsOf<T>(store: Pick<Store<T | undefined>, 'items'>): Generator<T> {
  for (const { object } of store.items()) if (object !== undefined) yield object;
}

// A watch: prints the objects, then every change, until Ctrl-C or until stdout is closed.

/** The -v level from which info entries are logged, as in reconcile --watch; warnings and errors always are. */
const INFO_VERBOSITY = 4;

export interface FollowFlags {
  /** The value of -v. */
  verbosity: number;
  /** --request-timeout, which also ends a watch, as in kubectl; undefined and 0: none. */
  requestTimeoutMs: number | undefined;
}

export type FollowChanges<T> = Pick<FollowOptions<T>, 'resource' | 'watched' | 'onStart' | 'onChanged' | 'onDeleted'>;

/** Wraps a function so that its error ends the watch: the next call would fail as well. */
type GuardListener = <A extends unknown[]>(show: (...args: A) => void) => (...args: A) => void;

/** Returns the exit code. */
export function showChanges<T>(changes: FollowChanges<T>, options: FollowFlags, io: Io): Promise<number> {
  const { resource, watched, onStart, onChanged, onDeleted } = changes;
  return untilStopped(
    (signal, guarded, deps) => {
      const handlers = { onStart: guarded(onStart), onChanged: guarded(onChanged), onDeleted: guarded(onDeleted) };
      return follow({ resource, watched, ...handlers, signal }, deps);
    },
    options,
    io,
  );
}

/** Runs it until Ctrl-C, the timeout, closed stdout or an error of a guarded function. Returns the exit code. */
export async function untilStopped(
  run: (signal: AbortSignal, guarded: GuardListener, deps: FollowDeps) => Promise<void>,
  { verbosity, requestTimeoutMs }: FollowFlags,
  io: Io,
): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  let failure: { error: unknown } | undefined;
  const guarded: GuardListener =
    show =>
    (...args) => {
      try {
        if (failure === undefined) show(...args);
      } catch (error) {
        failure = { error };
        stop();
      }
    };
  const log: Log = (level, message) => {
    const text = oneLine(message.replaceAll('\n', ' '));
    if (level === 'warning' || level === 'error') showNote(io, `${level}: ${text}`);
    else if (verbosity >= INFO_VERBOSITY) io.err(text);
  };
  let isInterrupted = false;
  const unsubscribe = onStopSignal(signal => {
    isInterrupted = signal === 'SIGINT';
    stop();
  });
  const timer = requestTimeoutMs ? setTimeout(stop, requestTimeoutMs) : undefined;
  // The reader has gone (`| head`); io.ts ignores the error itself.
  io.stdout.once('error', stop);
  try {
    await run(stopping.signal, guarded, { clock: systemClock, random: Math.random, log });
    if (failure !== undefined) throw failure.error;
    // The same as kubectl, so that Ctrl-C also ends a shell loop.
    return isInterrupted ? EXIT.interrupted : EXIT.done;
  } finally {
    leaveSoon();
    clearTimeout(timer);
    unsubscribe();
    io.stdout.off('error', stop);
  }
}
