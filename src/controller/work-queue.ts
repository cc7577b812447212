/**
 * A queue of keys with client-go's semantics (util/workqueue):
 * - a key is queued at most once, however often it is added; keys are in the order in which they were added;
 * - a key is never processed by two workers: if it is added meanwhile, it is queued again after done();
 * - a delayed key (addAfter, addRateLimited) waits once too, for the earliest of its times.
 *
 * Not guaranteed: that keys survive the process, or an order among keys that become due at the same time.
 */
import type { Clock } from './clock.ts';
import { DelayHeap } from './delay-heap.ts';
import { defaultRateLimiter, type RateLimiter } from './rate-limiter.ts';

export type Taken<K> = { kind: 'key'; key: K } | { kind: 'shutdown' };

/** Receives the metrics of a queue. */
export interface QueueMetrics {
  /** Number of keys to process, including those that are being processed and were added again. */
  depth(keys: number): void;
  added(): void;
  retried(): void;
  /** From the first add to the worker. */
  waited(seconds: number): void;
  /** From the worker to done(). */
  worked(seconds: number): void;
  /** Called once; `seconds` returns how long each worker has been processing its key. */
  running(seconds: () => number[]): void;
}

interface QueueOptions<K extends string> {
  clock: Clock;
  /** For addRateLimited; default: that of client-go. */
  limiter?: RateLimiter<K>;
  metrics?: QueueMetrics;
}

export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  readonly #limiter: RateLimiter<K>;
  /** Keys in order. Each is in #dirty and not in #processing. */
  readonly #queue: K[] = [];
  /** Keys to process, with the time of their first add. Those that are also in #processing are queued after done(). */
  readonly #dirty = new Map<K, number>();
  /** Keys that are being processed, with their start times. */
  readonly #processing = new Map<K, number>();
  /** Keys that are not due yet. */
  readonly #delayed = new DelayHeap<K>();
  /** Workers that wait for a key. Empty unless #queue is empty. */
  readonly #waiting: ((taken: Taken<K>) => void)[] = [];
  /** Callers of idle(). */
  #idle: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #shuttingDown = false;

  constructor({ clock, limiter = defaultRateLimiter(clock), metrics }: QueueOptions<K>) {
    this.#clock = clock;
    this.#limiter = limiter;
    this.#metrics = metrics;
    metrics?.running(() => [...this.#processing.values()].map(since => (clock.now() - since) / 1000));
  }

  /** Number of queued keys. */
  get length(): number {
    return this.#queue.length;
  }

  /** Ignored after shutDown(). */
  add(key: K): void {
    if (this.#shuttingDown || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    this.#metrics?.added();
    this.#metrics?.depth(this.#dirty.size);
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  /** Adds the key after `ms`; immediately for 0 and less. */
  addAfter(key: K, ms: number): void {
    if (this.#shuttingDown) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    this.#delayed.push(key, this.#clock.now() + ms);
    this.#schedule();
  }

  /** Adds the key after the rate limiter's delay. */
  addRateLimited(key: K): void {
    this.#metrics?.retried();
    this.addAfter(key, this.#limiter.when(key));
  }

  /** Resets the key's failures. A running delay is not cancelled. */
  forget(key: K): void {
    this.#limiter.forget(key);
  }

  /** Failures since the last forget(). */
  retries(key: K): number {
    return this.#limiter.retries(key);
  }

  /** The next key; call done(key) when it is processed. `shutdown` once the queue is shut down and empty. */
  get(): Promise<Taken<K>> {
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#handOut();
    });
  }

  /** Must be called for every key that get() returned. */
  done(key: K): void {
    const since = this.#processing.get(key);
    if (since === undefined) throw new Error(`the key ${key} is with no worker`);
    this.#processing.delete(key);
    this.#metrics?.worked((this.#clock.now() - since) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
    this.#endIdle();
  }

  /** Resolves once no key is queued, delayed or being processed; after shutDown(), delayed keys do not count. */
  idle(): Promise<void> {
    return new Promise(resolve => {
      this.#idle.push(resolve);
      this.#endIdle();
    });
  }

  /** Ignores further keys. Queued keys are still returned, delayed ones are not. */
  shutDown(): void {
    this.#shuttingDown = true;
    this.#cancelTimer?.();
    this.#handOut();
    this.#endIdle();
  }

  #endIdle(): void {
    const isDelayed = !this.#shuttingDown && this.#delayed.size > 0;
    if (this.#dirty.size > 0 || this.#processing.size > 0 || isDelayed) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #enqueue(key: K): void {
    this.#queue.push(key);
    this.#handOut();
  }

  #handOut(): void {
    while (this.#waiting.length > 0) {
      const key = this.#queue.shift();
      if (key === undefined && !this.#shuttingDown) return;
      const resolve = this.#waiting.shift();
      resolve?.(key === undefined ? { kind: 'shutdown' } : this.#take(key));
    }
  }

  #take(key: K): Taken<K> {
    const now = this.#clock.now();
    this.#metrics?.waited((now - (this.#dirty.get(key) ?? now)) / 1000);
    this.#dirty.delete(key);
    this.#metrics?.depth(this.#dirty.size);
    this.#processing.set(key, now);
    return { kind: 'key', key };
  }

  /** One timer, for the earliest key. */
  #schedule(): void {
    this.#cancelTimer?.();
    const at = this.#delayed.next();
    if (at === undefined) return;
    this.#cancelTimer = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      for (const key of this.#delayed.takeDue(this.#clock.now())) this.add(key);
      this.#schedule();
    });
  }
}
