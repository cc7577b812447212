/**
 * The history of a resource as far as it was followed, and whether the server still has it. One whose etcd was restored
 * from a backup has another: its resourceVersions go back, objects with them, and a watch from the lost future is silent.
 *
 * What is concluded rests on consistent reads (resourceVersion unset), which are of etcd's newest state. An API server
 * that is cut off from etcd, and serves what its cache had, fails them: it is never taken for a restored one.
 *
 * This is the one place where the versions of lists and events are compared: no object in the store is newer than the
 * newest version that was seen, and nothing older than that gets into it, unless the server was restored.
 */
import { attempt } from './attempt.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import type { Listed } from './pager.ts';
import { compareVersions, isOlder } from './resource-version.ts';
import { broken, type Failure, type Page, type Source } from './source.ts';
import type { Item, Store, StoreEvent } from './store.ts';

const LIMIT_MS = 30_000;
/** Items of a list that is asked for its resourceVersion alone. */
export const LOOK_LIMIT = 1;

export interface HistoryOptions<T> {
  source: Source;
  store: Store<T>;
  clock: Clock;
  log: Log;
  /** See ReflectorOptions. */
  onRestored?: () => void;
}

export class History<T> {
  readonly #options: HistoryOptions<T>;
  /** The newest state that was seen. It survives a 410, to tell a server that is behind. */
  #version: string | undefined;
  #isUnsure = false;
  #isConfirmed = true;

  constructor(options: HistoryOptions<T>) {
    this.#options = options;
  }

  get version(): string | undefined {
    return this.#version;
  }

  /** Whether confirm() is due before the next watch. */
  get isUnsure(): boolean {
    return this.#isUnsure;
  }

  /** See Reflector.isConfirmed. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  /** A watch begins: a server that does not have this history would be silent, as one where nothing happens. */
  begins(): void {
    this.#isUnsure = true;
  }

  /** A watch or a list failed. @param isBroken there was no answer, or half of one: the server may have been replaced */
  fails(isBroken: boolean): void {
    this.#isUnsure = true;
    if (isBroken) this.#isConfirmed = false;
  }

  /** False when what has this version is not news: an older state, which only a server that is behind sends. */
  advance(version: string): boolean {
    const order = this.#version === undefined ? 1 : (compareVersions(version, this.#version) ?? 1);
    if (order < 0) {
      this.#options.log('warning', `the server is behind: it sent ${version} after ${this.#version}; skipped`);
    }
    if (order > 0) this.#version = version;
    this.#isUnsure = order < 0;
    return order > 0;
  }

  /** Asks for the server's newest resourceVersion, by a list of one object. */
  async confirm(signal: AbortSignal): Promise<{ kind: 'confirmed' } | { kind: 'restored' } | Failure> {
    const { source, clock } = this.#options;
    const late = broken('the server did not tell its newest resourceVersion in time');
    const page = await attempt<Page | Failure>(clock, LIMIT_MS, signal, { late, stopped: broken('stopped') }, inner =>
      source.list({ limit: LOOK_LIMIT, continue: undefined, signal: inner.signal }),
    );
    if (page.kind !== 'page') return page;
    this.#isUnsure = false;
    if (this.#version !== undefined && isOlder(page.resourceVersion, this.#version)) {
      this.#restored(`its newest resourceVersion is ${page.resourceVersion}, and ${this.#version} has been seen`);
      return { kind: 'restored' };
    }
    this.#isConfirmed = true;
    return { kind: 'confirmed' };
  }

  /** Takes a whole list into the store, and gives what changed by it; a failure when the server is behind. */
  async accept(
    { items, resourceVersion }: Extract<Listed<T>, { kind: 'listed' }>,
    signal: AbortSignal,
  ): Promise<{ kind: 'accepted'; events: StoreEvent<T>[] } | Failure> {
    const { store } = this.#options;
    if (this.#version !== undefined && isOlder(resourceVersion, this.#version)) {
      const seen = this.#version;
      const newest = await this.confirm(signal);
      if (newest.kind === 'confirmed') {
        return broken(`the server is behind: its list is of ${resourceVersion}, and ${seen} has been seen`);
      }
      if (newest.kind !== 'restored') return newest;
    } else {
      const foreign = this.#foreign(items);
      if (foreign !== undefined) this.#restored(`${foreign.key} is back at resourceVersion ${foreign.resourceVersion}`);
    }
    const events = store.replace(items);
    this.#version = resourceVersion;
    this.#isUnsure = false;
    this.#isConfirmed = true;
    return { kind: 'accepted', events };
  }

  /**
   * The first object that cannot be in the history that was followed: all that was last changed until then is known, so
   * an object of that age which is not known in just this state was put back.
   */
  #foreign(items: Iterable<Item<T>>): Item<T> | undefined {
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
    log('warning', `the server's etcd was restored from a backup: ${evidence}. Everything is listed anew`);
    this.#version = undefined;
    this.#isConfirmed = false;
    onRestored?.();
  }
}
