/**
 * Keeps a store like a resource on the server, and tells what changes.
 *
 * Guaranteed:
 * - It never stops until told to: every failure is logged, backed off from (0.8 s to 30 s, jitter) and tried again. A
 *   list or an event that came through ends the growth: a connection that is cut every minute costs 0.8 to 1.6 s each.
 * - The last resourceVersion is where a broken watch goes on, and it never goes back: what an API server that is behind
 *   sends (list, object or bookmark) is dropped.
 * - After a watch that broke, or told nothing, the server's newest resourceVersion is asked for before the next one. A
 *   server that has gone back, because its etcd was restored from a backup, is noticed: onRestored is called and
 *   everything is listed anew, whatever versions it has. So it is where a list has an object that cannot be (history.ts).
 *   A server that was away when it was asked is listed anew in any case: it may have caught up with what was seen.
 * - 410 Gone, as an answer or in the stream, costs one list; what was deleted meanwhile is told as deleted.
 * - 429 and 503 with Retry-After are asked again after that time, at least a second, without a list.
 * - relist() compares the store with the server: a restore that no watch could tell of is noticed then.
 * - A server that falls silent is noticed within 40 s, whatever the sockets look like: the server is asked to end each
 *   watch after 28 to 34 s, and one that is still there 5 s later is dead. Bookmarks alone would not do: they come
 *   every 60 s. Going on costs one small request from where the watch was, which the bookmark that the server sends
 *   2 s before the end keeps as young as etcd's own progress notes allow.
 * - A listener that throws is logged and changes nothing for others.
 *
 * Not guaranteed: every state in between (states that fall into a gap are skipped; deletions and new UIDs are not), an
 * order between objects; after a restore, anything while API servers that were not restarted serve the lost future.
 */
import { attempt } from './attempt.ts';
import { Backoff } from './backoff.ts';
import { type Clock, sleep } from './clock.ts';
import { History } from './history.ts';
import { type Log, messageOf } from './log.ts';
import { Pager } from './pager.ts';
import { broken, type Failure, type Source } from './source.ts';
import type { Store, StoreEvent } from './store.ts';
import { readItem, readLine } from './wire.ts';

const SHORTEST_WATCH_S = 28;
const WATCH_SPREAD_S = 7;
const WATCH_GRACE_MS = 5_000;
/** A watch that ends sooner and empty is no watch (client-go's rule): without it a server could make us spin. */
const SHORTEST_USEFUL_MS = 1_000;
const SHORTEST_RETRY_MS = 1_000;

/** What to do next: go on at once, list anew, or wait. */
type Outcome = { kind: 'fine' } | { kind: 'expired' } | Failure;

export interface ReflectorOptions<T> {
  /** Of the resource, for the log. */
  name: string;
  source: Source;
  /** Keeps of an object what is used: the rest is freed. An object for which it throws is logged and skipped. */
  transform: (raw: object) => T;
  /** Only this reflector writes to it. */
  store: Store<T>;
  clock: Clock;
  /** From 0 up to, not including, 1. */
  random: () => number;
  log: Log;
  /** Called as soon as it is known that etcd was restored from a backup: what was learned until now may never have been. */
  onRestored?: () => void;
}

export type Listener<T> = (event: StoreEvent<T>) => void;

export class Reflector<T> {
  readonly name: string;
  readonly store: Store<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #log: Log;
  readonly #pager: Pager<T>;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<Listener<T>>();
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  readonly #history: History<T>;
  #needsList = true;
  #endWatch = () => {};
  #isDoubted = false;
  #hasSynced = false;
  #running: Promise<void> | undefined;

  constructor(options: ReflectorOptions<T>) {
    const { name, store, clock, random, log } = options;
    this.name = name;
    this.store = store;
    this.#options = options;
    this.#log = (level, message) => log(level, `${name}: ${message}`);
    this.#pager = new Pager({ ...options, log: this.#log });
    this.#history = new History({ ...options, log: this.#log });
    this.#backoff = new Backoff({ clock, random });
  }

  /** Calls it with every change, first with an `added` for each object that is there; returns what ends that. */
  subscribe(listener: Listener<T>): () => void {
    for (const item of this.store.items()) this.#tell(listener, { type: 'added', item });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /** Resolves when it has stopped: from then on the store does not change. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Whether the store has had the whole of the resource. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /**
   * False from when a connection broke until the server has shown that its history is still the one that was followed:
   * what is written meanwhile may come from objects that a restore has undone.
   */
  get isConfirmed(): boolean {
    return this.#history.isConfirmed;
  }

  /** Lists everything anew; a watch that is under way ends for it. */
  relist(): void {
    this.#needsList = true;
    this.#endWatch();
  }

  /** The same; until it is listed, nobody knows whether the server still has the history that was followed. */
  doubt(): void {
    this.#isDoubted = true;
    this.relist();
  }

  /** Whether a list after doubt() is not there yet. */
  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Resolves when hasSynced turns true and the listeners know of every object; never, if it does not. */
  synced(): Promise<void> {
    return this.#synced.promise;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const outcome = await this.#step(signal).catch((error: unknown): Outcome => broken(messageOf(error)));
      if (outcome.kind !== 'fine') this.#history.fails(outcome.kind === 'broken');
      if (!signal.aborted) await this.#recover(outcome, signal);
    }
  }

  #step(signal: AbortSignal): Promise<Outcome> {
    if (this.#needsList) return this.#list(signal);
    return this.#history.isUnsure ? this.#confirm(signal) : this.#watch(signal);
  }

  async #recover(outcome: Outcome, signal: AbortSignal): Promise<void> {
    if (outcome.kind === 'fine') return;
    let delay = this.#backoff.next();
    if (outcome.kind === 'expired') {
      this.#needsList = true;
      this.#log('info', `resourceVersion ${this.#history.version} has expired: listing anew`);
    } else {
      const retryAfterMs = outcome.kind === 'refused' ? outcome.retryAfterMs : undefined;
      if (retryAfterMs !== undefined) delay = Math.max(retryAfterMs, SHORTEST_RETRY_MS);
      this.#log('warning', `${describe(outcome)}; next attempt in ${(delay / 1000).toFixed(1)} s`);
    }
    await sleep(this.#options.clock, delay, signal);
  }

  async #list(signal: AbortSignal): Promise<Outcome> {
    // Now, not at its end: who asks for a list while this one is under way wants another.
    this.#needsList = false;
    const wasDoubted = this.#isDoubted;
    try {
      const outcome = await this.#listInto(signal);
      this.#needsList ||= outcome.kind !== 'fine';
      // A list that was under way when the doubt arose says nothing.
      if (wasDoubted && !this.#needsList) this.#isDoubted = false;
      return outcome;
    } catch (error) {
      this.#needsList = true;
      throw error;
    }
  }

  async #listInto(signal: AbortSignal): Promise<Outcome> {
    const listed = await this.#pager.list(signal);
    if (listed.kind !== 'listed') return listed;
    const accepted = await this.#history.accept(listed, signal);
    if (accepted.kind !== 'accepted') return accepted;
    this.#backoff.reset();
    this.#deliver(accepted.events);
    this.#hasSynced = true;
    this.#synced.resolve();
    return { kind: 'fine' };
  }

  async #confirm(signal: AbortSignal): Promise<Outcome> {
    const newest = await this.#history.confirm(signal);
    // It was away: when it is back it may be restored, and have caught up with the version that was seen.
    if (newest.kind === 'broken' || newest.kind === 'restored') this.#needsList = true;
    return newest.kind === 'broken' || newest.kind === 'refused' ? newest : { kind: 'fine' };
  }

  async #watch(signal: AbortSignal): Promise<Outcome> {
    const { source, clock, random } = this.#options;
    const timeoutSeconds = SHORTEST_WATCH_S + Math.floor(random() * WATCH_SPREAD_S);
    const limitMs = timeoutSeconds * 1000 + WATCH_GRACE_MS;
    this.#log('debug', `watching from resourceVersion ${this.#history.version}, for ${timeoutSeconds} s`);
    const start = clock.now();
    const outcomes = { late: broken('the watch fell silent'), stopped: broken('stopped') };
    this.#history.begins();
    return attempt<Outcome>(clock, limitMs, signal, outcomes, async inner => {
      this.#endWatch = () => inner.end({ kind: 'fine' });
      let lines = 0;
      const options = {
        resourceVersion: this.#history.version,
        initialEvents: false,
        timeoutSeconds,
        signal: inner.signal,
      };
      const ended = await source.watch(options, json => {
        if (inner.signal.aborted) return;
        lines += 1;
        const problem = this.#take(json);
        if (problem !== undefined) inner.end(problem);
        else this.#backoff.reset();
      });
      if (ended.kind === 'refused' && ended.status === 410) return { kind: 'expired' };
      if (ended.kind !== 'ended') return ended;
      const useful = lines > 0 || clock.now() - start >= SHORTEST_USEFUL_MS;
      return useful ? { kind: 'fine' } : broken('the watch ended at once');
    });
  }

  /** One line of a watch. Gives the outcome when the line ends it. */
  #take(json: unknown): Outcome | undefined {
    const line = readLine(json);
    switch (line.type) {
      case 'changed':
      case 'deleted': {
        const read = readItem(line.raw, this.#options.transform);
        if (read.kind === 'unusable') this.#log('warning', `an event is skipped: ${read.why}`);
        else if (this.#history.advance(read.item.resourceVersion)) {
          this.#deliver(line.type === 'changed' ? this.store.set(read.item) : this.store.delete(read.item));
        }
        return undefined;
      }
      case 'bookmark':
        this.#history.advance(line.resourceVersion);
        return undefined;
      case 'expired':
        return { kind: 'expired' };
      case 'error':
        return line.failure;
      case 'unknown':
        this.#log('warning', 'a line of the watch is no event; skipped');
        return undefined;
    }
  }

  #deliver(events: readonly StoreEvent<T>[]): void {
    for (const event of events) {
      for (const listener of this.#listeners) this.#tell(listener, event);
    }
  }

  #tell(listener: Listener<T>, event: StoreEvent<T>): void {
    try {
      listener(event);
    } catch (error) {
      this.#log('error', `a listener failed at an event of type ${event.type}: ${messageOf(error)}`);
    }
  }
}

function describe(failure: Failure): string {
  return failure.kind === 'refused' ? `the server answered ${failure.status}: ${failure.message}` : failure.message;
}
