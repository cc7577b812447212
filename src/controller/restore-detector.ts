/**
 * Tracks the newest resourceVersion of a resource, and detects that etcd was restored from a backup: then
 * resourceVersions and objects go back, and a watch from a lost resourceVersion receives nothing.
 *
 * Only consistent reads (resourceVersion unset) are used as evidence. They return etcd's newest state. An API server
 * that is cut off from etcd and serves its stale cache fails them, so it is not mistaken for a restored one.
 *
 * Versions of lists and events are compared only here: no object in the store is newer than the newest known version,
 * and nothing older enters the store unless etcd was restored.
 */
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import type { ListResult } from './pager.ts';
import { compareVersions, isOlder } from './resource-version.ts';
import { broken, type Failure, type Page, type Source } from './source.ts';
import type { Item, Store, StoreEvent } from './store.ts';
import { withTimeLimit } from './time-limit.ts';

const LIMIT_MS = 30_000;
/** Items of a list that is read only for its resourceVersion. */
export const VERSION_LIMIT = 1;

interface RestoreDetectorOptions<T> {
  source: Source;
  store: Store<T>;
  clock: Clock;
  log: Log;
  /** etcd was restored from a backup: everything is listed again. */
  onRestored?: () => void;
}

export class RestoreDetector<T> {
  readonly #options: RestoreDetectorOptions<T>;
  /** The newest known version. Kept after a 410, to detect a stale server. */
  #version: string | undefined;
  #needsConfirm = false;
  #isConfirmed = true;

  constructor(options: RestoreDetectorOptions<T>) {
    this.#options = options;
  }

  get version(): string | undefined {
    return this.#version;
  }

  /** Whether confirm() must run before the next watch. */
  get needsConfirm(): boolean {
    return this.#needsConfirm;
  }

  /** False from a broken connection until the server has shown that it was not restored. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  /** Call it before a watch that a restored server would answer with silence, as one without changes does. */
  requireConfirm(): void {
    this.#needsConfirm = true;
  }

  /** Call it when a watch or list failed. @param isBroken the response was not complete: the server may have changed */
  fails(isBroken: boolean): void {
    this.#needsConfirm = true;
    if (isBroken) this.#isConfirmed = false;
  }

  /** Whether the version is new. Only a stale server sends older versions. */
  advance(version: string): boolean {
    const order = this.#version === undefined ? 1 : (compareVersions(version, this.#version) ?? 1);
    if (order < 0) {
      this.#options.log('warning', `skipped outdated data: the server sent ${version} after ${this.#version}`);
    }
    if (order > 0) this.#version = version;
    this.#needsConfirm = order < 0;
    return order > 0;
  }

  /** Gets the server's newest resourceVersion from a list of one object. */
  async confirm(signal: AbortSignal): Promise<{ kind: 'confirmed' } | { kind: 'restored' } | Failure> {
    const { source, clock } = this.#options;
    const late = broken('the server did not send its newest resourceVersion in time');
    const page = await withTimeLimit<Page | Failure>(
      clock,
      LIMIT_MS,
      signal,
      { late, stopped: broken('stopped') },
      inner => source.list({ limit: VERSION_LIMIT, continue: undefined, signal: inner.signal }),
    );
    if (page.kind !== 'page') return page;
    this.#needsConfirm = false;
    if (this.#version !== undefined && isOlder(page.resourceVersion, this.#version)) {
      this.#restored(`its newest resourceVersion is ${page.resourceVersion}, but ${this.#version} was seen before`);
      return { kind: 'restored' };
    }
    this.#isConfirmed = true;
    return { kind: 'confirmed' };
  }

  /** Puts a complete list into the store and returns the resulting events; a failure when the server is stale. */
  async accept(
    { items, resourceVersion }: Extract<ListResult<T>, { kind: 'listed' }>,
    signal: AbortSignal,
  ): Promise<{ kind: 'accepted'; events: StoreEvent<T>[] } | Failure> {
    const { store } = this.#options;
    if (this.#version !== undefined && isOlder(resourceVersion, this.#version)) {
      const seen = this.#version;
      const newest = await this.confirm(signal);
      if (newest.kind === 'confirmed') {
        return broken(`the server is behind: its list is from ${resourceVersion}, but ${seen} was seen before`);
      }
      if (newest.kind !== 'restored') return newest;
    } else {
      const contradiction = this.#contradiction(items);
      if (contradiction !== undefined)
        this.#restored(`${contradiction.key} is back at resourceVersion ${contradiction.resourceVersion}`);
    }
    const events = store.replace(items);
    this.#version = resourceVersion;
    this.#needsConfirm = false;
    this.#isConfirmed = true;
    return { kind: 'accepted', events };
  }

  /** The first object whose state is as old as the newest known version, but unknown: it came from a restore. */
  #contradiction(items: Iterable<Item<T>>): Item<T> | undefined {
    if (this.#version === undefined) return undefined;
    for (const item of items) {
      const known = this.#options.store.get(item.key);
      if (known?.uid === item.uid && known.resourceVersion === item.resourceVersion) continue;
      if ((compareVersions(item.resourceVersion, this.#version) ?? 1) <= 0) return item;
    }
    return undefined;
  }

  #restored(evidence: string): void {
    const { log, onRestored } = this.#options;
    log('warning', `the server's etcd was restored from a backup: ${evidence}. Listing everything again`);
    this.#version = undefined;
    this.#isConfirmed = false;
    onRestored?.();
  }
}
