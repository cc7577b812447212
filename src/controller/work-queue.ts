/**
 * Keys on their way to workers, with client-go's semantics (util/workqueue):
 * - a key waits at most once, however often it is added; keys come out in the order they came in;
 * - a key is never with two workers: added while one has it, it comes out once more after done();
 * - a key added later (addAfter, addRateLimited) waits once too, for the earliest of its times.
 *
 * Not guaranteed: that keys survive the process, or an order between a delayed key and others due at the same time.
 */
import type { Clock } from './clock.ts';
import { DelayHeap } from './delay-heap.ts';
import { defaultRateLimiter, type RateLimiter } from './rate-limiter.ts';

export type Taken<K> = { kind: 'key'; key: K } | { kind: 'shutdown' };

/** What a registry wants to know of a queue. */
export interface QueueMetrics {
  /** Keys that wait: for a worker, or to be worked on once more. */
  depth(keys: number): void;
  added(): void;
  retried(): void;
  /** From the first add to the worker. */
  waited(seconds: number): void;
  /** From the worker to done(). */
  worked(seconds: number): void;
  /** Called once, with what gives at any time how many seconds each worker has had its key. */
  running(seconds: () => number[]): void;
}

export interface QueueOptions<K extends string> {
  clock: Clock;
  /** Of addRateLimited; client-go's default unless told otherwise. */
  limiter?: RateLimiter<K>;
  metrics?: QueueMetrics;
}

export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  readonly #limiter: RateLimiter<K>;
  /** Keys in the order they come out: each of them is in #dirty and not in #processing. */
  readonly #queue: K[] = [];
  /** Keys to be worked on, with the time of their first add; those in #processing too come out after done(). */
  readonly #dirty = new Map<K, number>();
  /** Keys that workers have, with the time they got them. */
  readonly #processing = new Map<K, number>();
  /** Keys whose time has not come. */
  readonly #delayed = new DelayHeap<K>();
  /** Workers without a key. Empty unless #queue is. */
  readonly #waiting: ((taken: Taken<K>) => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #shuttingDown = false;

  constructor({ clock, limiter = defaultRateLimiter(clock), metrics }: QueueOptions<K>) {
    this.#clock = clock;
    this.#limiter = limiter;
    this.#metrics = metrics;
    metrics?.running(() => [...this.#processing.values()].map(since => (clock.now() - since) / 1000));
  }

  /** Keys that wait for a worker. */
  get length(): number {
    return this.#queue.length;
  }

  /** Does nothing after shutDown(). */
  add(key: K): void {
    if (this.#shuttingDown || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    this.#metrics?.added();
    this.#metrics?.depth(this.#dirty.size);
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  /** Adds it in `ms`; at once for 0 and less. */
  addAfter(key: K, ms: number): void {
    if (this.#shuttingDown) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    this.#delayed.push(key, this.#clock.now() + ms);
    this.#schedule();
  }

  /** Adds it after the delay that its failures so far, and those of all keys, have earned it. */
  addRateLimited(key: K): void {
    this.#metrics?.retried();
    this.addAfter(key, this.#limiter.when(key));
  }

  /** Its next failure counts as the first. A delay that runs goes on. */
  forget(key: K): void {
    this.#limiter.forget(key);
  }

  /** Failures since the last forget(). */
  retries(key: K): number {
    return this.#limiter.retries(key);
  }

  /** The next key, which is the caller's until done(key); `shutdown` once the queue is shut down and empty. */
  get(): Promise<Taken<K>> {
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#handOut();
    });
  }

  /** Must follow every key got. */
  done(key: K): void {
    const since = this.#processing.get(key);
    if (since === undefined) throw new Error(`the key ${key} is with no worker`);
    this.#processing.delete(key);
    this.#metrics?.worked((this.#clock.now() - since) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
  }

  /** From now on nothing can be added; what waits for a worker still comes out, what waits for its time does not. */
  shutDown(): void {
    this.#shuttingDown = true;
    this.#cancelTimer?.();
    this.#handOut();
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
