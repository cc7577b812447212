/**
 * Lists a resource, then watches for changes until the signal is aborted. Built on the reflector: a server that goes away
 * or restarts costs a warning, and no change is reported twice.
 */
import type { Clock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import { Reflector } from '../../controller/reflector.ts';
import type { Source, Watched } from '../../controller/source.ts';
import { Store, type StoreEvent } from '../../controller/store.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { noun } from '../../nodepool/text.ts';

/** The types of the API's watch events. */
export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface FollowOptions<T> {
  /** As RBAC names it: `nodepools.nodes.lailin.xyz`. */
  resource: string;
  /** Objects that it transforms to undefined are skipped. */
  watched: Watched<T | undefined>;
  /** Called once, with what is there, in no order. */
  onStart: (objects: T[]) => void;
  /** An object that is new, or is not what it was. */
  onChanged: (object: T, type: 'ADDED' | 'MODIFIED') => void;
  /** The last state of an object that is gone. */
  onDeleted: (object: T) => void;
  /**
   * Called before the first change that is reported after a restore of etcd: versions go back and deleted objects return.
   * The store has all that was restored by then.
   */
  onRestored?: () => void;
  /** What is followed. Written here alone. */
  store?: Store<T | undefined>;
  /** Ends the watch. */
  signal: AbortSignal;
}

export interface FollowDeps {
  clock: Clock;
  /** From 0 up to, not including, 1. */
  random: () => number;
  log: Log;
}

/**
 * Resolves soon after the signal is aborted. A missing permission to watch is a NodepoolError, since only a person can fix
 * it, after onStart with what can be listed, as kubectl get --watch; all other errors, and the loss of a permission later,
 * are logged and retried.
 */
export async function follow<T>(options: FollowOptions<T>, deps: FollowDeps): Promise<void> {
  const { resource, watched, signal, store = new Store<T | undefined>() } = options;
  const [name = resource] = resource.split('.', 1);
  let started = false;
  let refusal: NodepoolError | undefined;
  const over = Promise.withResolvers<void>();
  const stop = () => over.resolve();
  const source = reportForbidden(watched.source, (verbs, message) => {
    const [verb] = verbs;
    const role = `ask for a role with ${noun(verbs.length, 'verb')} ${verbs.join(', ')} on ${resource}`;
    const user = /User "([^"]*)" cannot /.exec(message)?.[1];
    const reason = user === undefined ? message : `user "${user}" lacks the permission`;
    refusal = new NodepoolError('cluster', `cannot ${verb} ${name}: ${reason}`, role);
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
    report(event, options);
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

function report<T>(event: StoreEvent<T | undefined>, { onChanged, onDeleted }: FollowOptions<T>): void {
  const { object } = event.type === 'deleted' ? event.tombstone.item : event.item;
  if (object === undefined) return;
  if (event.type === 'deleted') onDeleted(object);
  else onChanged(object, event.type === 'added' ? 'ADDED' : 'MODIFIED');
}

/** The same source; calls `onForbidden` when the first watch is answered 403, after the list, which then reads pages. */
function reportForbidden(source: Source, onForbidden: (verbs: string[], message: string) => void): Source {
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
        // The answer of a server without WatchList.
        if (options.initialEvents) return { ...end, status: 400 };
        onForbidden(['watch'], end.message);
      }
      return end;
    },
  };
}

/** Without the objects that were not selected, which are undefined. */
export function* objectsOf<T>(store: Pick<Store<T | undefined>, 'items'>): Generator<T> {
  for (const { object } of store.items()) if (object !== undefined) yield object;
}
