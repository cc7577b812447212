/**
 * A queue of keys with client-go's semantics (util/workqueue):
 * - a key is queued at most once, however often it is added; keys come in the order in which they were added;
 * - a key is never processed by two workers: if it is added meanwhile, it is queued again after done();
 * - a delayed key (addAfter, addRateLimited) waits once as well, for the earliest of its times.
 *
 * Not guaranteed: that keys survive the process, or an order among keys that become due at the same time.
 */
import type { Clock } from './clock.ts';

export type TakenKey<K> = { kind: 'key'; key: K } | { kind: 'shutdown' };

export interface QueueMetrics {
  /** Number of keys to process, including those that are being processed and were added again. */
  depth(keys: number): void;
  added(): void;
  retried(): void;
  /** Seconds from the first add until a worker takes the key. */
  waited(seconds: number): void;
  /** Seconds from when a worker takes the key until done(). */
  worked(seconds: number): void;
  /** Called once; `seconds` returns how long each worker has been processing its key. */
  running(seconds: () => number[]): void;
}

interface QueueOptions<K extends string> {
  clock: Clock;
  /** For addRateLimited. Default: client-go's rate limiter. */
  limiter?: RateLimiter<K>;
  metrics?: QueueMetrics;
}

export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  readonly #limiter: RateLimiter<K>;
  /** Keys in order. Each is in #dirty and not in #processing. */
  readonly #queue: K[] = [];
  /** Keys to process, with the time of their first add. A key that is also in #processing is queued after done(). */
  readonly #dirty = new Map<K, number>();
  /** Keys that are being processed, with their start times. */
  readonly #processing = new Map<K, number>();
  /** Keys that are not due yet. */
  readonly #delayed = new DelayHeap<K>();
  /** Workers that wait for a key. Empty unless #queue is empty. */
  readonly #waiting: ((taken: TakenKey<K>) => void)[] = [];
  /** Callers of idle(). */
  readonly #idle: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #shuttingDown = false;

  constructor({ clock, limiter = defaultRateLimiter(clock), metrics }: QueueOptions<K>) {
    this.#clock = clock;
    this.#limiter = limiter;
    this.#metrics = metrics;
    metrics?.running(() => [...this.#processing.values()].map(since => (clock.now() - since) / 1000));
  }

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

  /** As addRateLimited(), but at once if the key has not failed since the last forget(). */
  addAgain(key: K): void {
    const isFirst = this.retries(key) === 0;
    this.#metrics?.retried();
    const ms = this.#limiter.when(key);
    this.addAfter(key, isFirst ? 0 : ms);
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
  get(): Promise<TakenKey<K>> {
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

  /** Ignores further keys. Queued keys are still returned, delayed keys are not. */
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

  #take(key: K): TakenKey<K> {
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

interface DelayedKey<K> {
  key: K;
  /** Clock time. */
  at: number;
}

/** Keys with a due time, earliest first. Each key has one entry, with its earliest time, as in client-go. */
export class DelayHeap<K extends string> {
  /** A binary heap by `at`. An entry is outdated when its time differs from the key's time in #times. */
  readonly #heap: DelayedKey<K>[] = [];
  readonly #times = new Map<K, number>();

  get size(): number {
    return this.#times.size;
  }

  push(key: K, at: number): void {
    const before = this.#times.get(key);
    if (before !== undefined && before <= at) return;
    this.#times.set(key, at);
    let index = this.#heap.push({ key, at }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** When the next key is due; undefined when there is none. */
  next(): number | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#times.get(top.key) === top.at) return top.at;
      this.#removeTop();
    }
    return undefined;
  }

  /** Removes the keys that are due and returns them in the order of their times. */
  takeDue(now: number): K[] {
    const dueKeys: K[] = [];
    for (let at = this.next(); at !== undefined && at <= now; at = this.next()) {
      const top = this.#removeTop();
      if (top === undefined) break;
      this.#times.delete(top.key);
      dueKeys.push(top.key);
    }
    return dueKeys;
  }

  #removeTop(): DelayedKey<K> | undefined {
    const top = this.#heap[0];
    const last = this.#heap.pop();
    if (last === undefined || last === top) return top;
    this.#heap[0] = last;
    for (let index = 0; ; ) {
      const left = 2 * index + 1;
      const least = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(least) >= last.at) break;
      this.#swap(index, least);
      index = least;
    }
    return top;
  }

  /** Infinity beyond the end of the heap. */
  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
  }
}

// The delay of a failed key, with client-go's numbers (util/workqueue). It is the maximum of:
// - the key's own delay: 5 ms, doubling with each failure, up to 1000 s;
// - a token bucket for all keys: a burst of 100 failures, then 10 a second. If every key fails (no permission, a server
//   that answers 500), this limits attempts to 10 a second, whatever the number of keys.
//
// Without jitter, because keys fail at different times. Keys that did not fail are not limited.

interface RateLimiter<K extends string> {
  /** Counts a failure and returns its delay in milliseconds. */
  when(key: K): number;
  /** Failures since the last forget(). */
  retries(key: K): number;
  forget(key: K): void;
}

/** client-go's DefaultTypedControllerRateLimiter. */
export function defaultRateLimiter<K extends string>(clock: Clock): RateLimiter<K> {
  return new MaxOf<K>([new ExponentialDelay(5, 1_000_000), new TokenBucket(clock, 10, 100)]);
}

/** A delay for each key, doubling with each failure. */
export class ExponentialDelay<K extends string> implements RateLimiter<K> {
  readonly #firstMs: number;
  readonly #longestMs: number;
  /** Failures since the last forget(); keys without failures are removed. */
  readonly #failures = new Map<K, number>();

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  when(key: K): number {
    const failures = this.retries(key);
    this.#failures.set(key, failures + 1);
    return Math.min(this.#firstMs * 2 ** failures, this.#longestMs);
  }

  retries(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }
}

/** A token bucket for all keys. Each failure takes a token, or waits in order for the next one. */
export class TokenBucket<K extends string> implements RateLimiter<K> {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  /** If negative: the number of failures that wait for a token. */
  #tokens: number;
  /** Clock time of the last change of #tokens. */
  #filledAt: number;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAt = clock.now();
  }

  when(): number {
    const now = this.#clock.now();
    const filled = this.#tokens + ((now - this.#filledAt) / 1000) * this.#perSecond;
    this.#tokens = Math.min(filled, this.#burst) - 1;
    this.#filledAt = now;
    return Math.max(0, (-this.#tokens / this.#perSecond) * 1000);
  }

  /** The bucket does not distinguish keys. */
  retries(): number {
    return 0;
  }

  /** Tokens are not returned to the bucket. */
  forget(): void {}
}

/** The maximum delay of several limiters. */
export class MaxOf<K extends string> implements RateLimiter<K> {
  readonly #limiters: readonly RateLimiter<K>[];

  constructor(limiters: readonly RateLimiter<K>[]) {
    this.#limiters = limiters;
  }

  when(key: K): number {
    return Math.max(0, ...this.#limiters.map(limiter => limiter.when(key)));
  }

  retries(key: K): number {
    return Math.max(0, ...this.#limiters.map(limiter => limiter.retries(key)));
  }

  forget(key: K): void {
    for (const limiter of this.#limiters) limiter.forget(key);
  }
}
