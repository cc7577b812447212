/**
 * Keeps a store in sync with a resource on the server, and notifies listeners of changes.
 *
 * Guaranteed:
 * - It runs until stop(): every failure is logged and retried with backoff (0.8 s to 30 s, jitter). A list or event
 *   that arrives resets the backoff: a connection that is cut every minute costs 0.8 to 1.6 s each time.
 * - A broken watch resumes at the last resourceVersion, which never goes back: lists, objects and bookmarks of a stale
 *   API server are dropped.
 * - After a watch that broke or received nothing, the server's newest resourceVersion is read before the next watch. If
 *   it went back, because etcd was restored from a backup, onRestored is called and everything is listed again. The
 *   same happens if a list has an object that contradicts an earlier state (restore-detector.ts). If the server was
 *   unavailable for that read, everything is listed again: it may have been restored and caught up meanwhile.
 * - 410 Gone, as a response or in the stream, costs one list; objects deleted meanwhile are reported as deleted.
 * - 429 and 503 with Retry-After are retried after that time, at least a second, without a list.
 * - relist() compares the store with the server, and so detects a restore that no watch could report.
 * - A silent connection is detected within 40 s, whatever the state of its sockets: the server is asked to end each
 *   watch after 28 to 34 s, and a watch that lasts 5 s longer is considered dead. Bookmarks are not enough: they are
 *   sent every 60 s. Resuming costs one small request, from a recent resourceVersion, because the server sends a
 *   bookmark 2 s before it ends the watch.
 * - A listener that throws is logged and does not affect others.
 *
 * Not guaranteed: every intermediate state (states in a gap are skipped; deletions and new UIDs are not), or an order
 * between objects. Nothing is guaranteed after a restore while API servers that were not restarted serve the lost
 * versions.
 */

import { Backoff } from './backoff.ts';
import { type Clock, sleep } from './clock.ts';
import { type Log, messageOf } from './log.ts';
import { Pager } from './pager.ts';
import { RestoreDetector } from './restore-detector.ts';
import { broken, type Failure, type Source } from './source.ts';
import type { Store, StoreEvent } from './store.ts';
import { withTimeLimit } from './time-limit.ts';
import { readItem, readLine } from './wire.ts';

const MIN_RETRY_MS = 1_000;

export interface ReflectorOptions<T> {
  /** The resource, for the log. */
  name: string;
  source: Source;
  /** Keeps the used fields of an object. An object for which this throws is logged and skipped. */
  transform: (raw: object) => T;
  /** Written only by this reflector. */
  store: Store<T>;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  log: Log;
  /** Called when a restore of etcd is detected: all earlier reads may be of states that no longer exist. */
  onRestored?: () => void;
}

type Listener<T> = (event: StoreEvent<T>) => void;

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
  readonly #restores: RestoreDetector<T>;
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
    this.#restores = new RestoreDetector({ ...options, log: this.#log });
    this.#backoff = new Backoff({ clock, random });
  }

  /** Calls the listener with every change, first `added` for each known object. Returns a function to unsubscribe. */
  subscribe(listener: Listener<T>): () => void {
    for (const item of this.store.items()) this.#notify(listener, { type: 'added', item });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /** Resolves when it has stopped; the store does not change after that. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Whether a complete list has been read. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /**
   * False from a broken connection until the server has shown that it was not restored. A write in between could be
   * based on objects that a restore has undone.
   */
  get isConfirmed(): boolean {
    return this.#restores.isConfirmed;
  }

  /** Lists everything again; ends the current watch. */
  relist(): void {
    this.#needsList = true;
    this.#endWatch();
  }

  /** As relist(). Until the list arrives, the server may have been restored. */
  doubt(): void {
    this.#isDoubted = true;
    this.relist();
  }

  /** Whether the list after doubt() is still outstanding. */
  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Resolves when hasSynced becomes true and the listeners have received every object. */
  synced(): Promise<void> {
    return this.#synced.promise;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const outcome = await this.#step(signal).catch((error: unknown): StepOutcome => broken(messageOf(error)));
      if (outcome.kind !== 'fine') this.#restores.fails(outcome.kind === 'broken');
      if (!signal.aborted) await this.#recover(outcome, signal);
    }
  }

  #step(signal: AbortSignal): Promise<StepOutcome> {
    if (this.#needsList) return this.#list(signal);
    return this.#restores.needsConfirm ? this.#confirm(signal) : this.#watch(signal);
  }

  async #recover(outcome: StepOutcome, signal: AbortSignal): Promise<void> {
    if (outcome.kind === 'fine') return;
    let delay = this.#backoff.next();
    if (outcome.kind === 'expired') {
      this.#needsList = true;
      this.#log('info', `resourceVersion ${this.#restores.version} has expired: listing again`);
    } else {
      const retryAfterMs = outcome.kind === 'refused' ? outcome.retryAfterMs : undefined;
      if (retryAfterMs !== undefined) delay = Math.max(retryAfterMs, MIN_RETRY_MS);
      this.#log('warning', `${describe(outcome)}; next attempt in ${(delay / 1000).toFixed(1)} s`);
    }
    await sleep(this.#options.clock, delay, signal);
  }

  async #list(signal: AbortSignal): Promise<StepOutcome> {
    // Set before the list, so that a relist() during it requests another list.
    this.#needsList = false;
    const wasDoubted = this.#isDoubted;
    try {
      const outcome = await this.#listInto(signal);
      this.#needsList ||= outcome.kind !== 'fine';
      // A list that started before doubt() was called proves nothing.
      if (wasDoubted && !this.#needsList) this.#isDoubted = false;
      return outcome;
    } catch (error) {
      this.#needsList = true;
      throw error;
    }
  }

  async #listInto(signal: AbortSignal): Promise<StepOutcome> {
    const listed = await this.#pager.list(signal);
    if (listed.kind !== 'listed') return listed;
    const accepted = await this.#restores.accept(listed, signal);
    if (accepted.kind !== 'accepted') return accepted;
    this.#backoff.reset();
    this.#deliver(accepted.events);
    this.#hasSynced = true;
    this.#synced.resolve();
    return { kind: 'fine' };
  }

  async #confirm(signal: AbortSignal): Promise<StepOutcome> {
    const newest = await this.#restores.confirm(signal);
    // The server was unavailable: it may have been restored and have caught up with the last known version.
    if (newest.kind === 'broken' || newest.kind === 'restored') this.#needsList = true;
    return newest.kind === 'broken' || newest.kind === 'refused' ? newest : { kind: 'fine' };
  }

  #watch(signal: AbortSignal): Promise<StepOutcome> {
    this.#restores.requireConfirm();
    return watchOnce({ ...this.#options, log: this.#log }, this.#restores.version, signal, {
      onBegin: end => {
        this.#endWatch = end;
      },
      onLine: json => {
        const problem = this.#take(json);
        if (problem === undefined) this.#backoff.reset();
        return problem;
      },
    });
  }

  /** Handles one line of a watch. Returns the outcome when the line ends the watch. */
  #take(json: unknown): StepOutcome | undefined {
    const line = readLine(json);
    switch (line.type) {
      case 'changed':
      case 'deleted': {
        const read = readItem(line.raw, this.#options.transform);
        if (read.kind === 'unusable') this.#log('warning', `skipped an event: ${read.why}`);
        else if (this.#restores.advance(read.item.resourceVersion)) {
          this.#deliver(line.type === 'changed' ? this.store.set(read.item) : this.store.delete(read.item));
        }
        return undefined;
      }
      case 'bookmark':
        this.#restores.advance(line.resourceVersion);
        return undefined;
      case 'expired':
        return { kind: 'expired' };
      case 'error':
        return line.failure;
      case 'unknown':
        this.#log('warning', 'skipped a line of the watch that is not an event');
        return undefined;
    }
  }

  #deliver(events: readonly StoreEvent<T>[]): void {
    for (const event of events) {
      for (const listener of this.#listeners) this.#notify(listener, event);
    }
  }

  #notify(listener: Listener<T>, event: StoreEvent<T>): void {
    try {
      listener(event);
    } catch (error) {
      this.#log('error', `a listener failed on an event of type ${event.type}: ${messageOf(error)}`);
    }
  }
}

function describe(failure: Failure): string {
  return failure.kind === 'refused' ? `the server answered ${failure.status}: ${failure.message}` : failure.message;
}

// One watch request of a reflector: its time limits, and how its end is handled.

const MIN_WATCH_S = 28;
const WATCH_SPREAD_S = 7;
const WATCH_GRACE_MS = 5_000;
/** A shorter watch without events counts as a failure (client-go's rule), or a server could cause a busy loop. */
const MIN_USEFUL_WATCH_MS = 1_000;

/** What to do next: continue, list again, or wait. */
type StepOutcome = { kind: 'fine' } | { kind: 'expired' } | Failure;

interface WatchOnceOptions {
  source: Pick<Source, 'watch'>;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  log: Log;
}

interface WatchHandlers {
  /** @param end ends the watch without a failure */
  onBegin: (end: () => void) => void;
  /** Called with every line until the end. Returns the outcome when the line ends the watch. */
  onLine: (json: unknown) => StepOutcome | undefined;
}

/** The server is asked to end the watch after 28 to 34 s. A watch that lasts 5 s longer counts as dead. */
function watchOnce(
  { source, clock, random, log }: WatchOnceOptions,
  resourceVersion: string | undefined,
  signal: AbortSignal,
  { onBegin, onLine }: WatchHandlers,
): Promise<StepOutcome> {
  const timeoutSeconds = MIN_WATCH_S + Math.floor(random() * WATCH_SPREAD_S);
  const limitMs = timeoutSeconds * 1000 + WATCH_GRACE_MS;
  log('debug', `watching from resourceVersion ${resourceVersion}, for ${timeoutSeconds} s`);
  const start = clock.now();
  const outcomes = { late: broken('the watch stalled'), stopped: broken('stopped') };
  return withTimeLimit<StepOutcome>(clock, limitMs, signal, outcomes, async inner => {
    onBegin(() => inner.end({ kind: 'fine' }));
    let lines = 0;
    const options = { resourceVersion, initialEvents: false, timeoutSeconds, signal: inner.signal };
    const ended = await source.watch(options, json => {
      if (inner.signal.aborted) return;
      lines += 1;
      const problem = onLine(json);
      if (problem !== undefined) inner.end(problem);
    });
    if (ended.kind === 'refused' && ended.status === 410) return { kind: 'expired' };
    if (ended.kind !== 'ended') return ended;
    const isUseful = lines > 0 || clock.now() - start >= MIN_USEFUL_WATCH_MS;
    return isUseful ? { kind: 'fine' } : broken('the watch ended immediately');
  });
}
