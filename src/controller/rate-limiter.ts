/**
 * How long a key that failed waits, with client-go's numbers (util/workqueue): the longer of
 * - its own delay: 5 ms, doubling with each failure of the key, to 1000 s;
 * - its place in a bucket for all keys: 100 failures at once, then 10 a second. A cause that fails every key (no
 *   permission, a server that answers 500) costs 10 attempts a second in the long run, however many keys there are.
 *
 * No jitter: keys fail each at their own time. Not guaranteed: a bound on keys that did not fail; they never wait here.
 */
import type { Clock } from './clock.ts';

export interface RateLimiter<K extends string> {
  /** Counts one failure and gives the milliseconds to wait for it. */
  when(key: K): number;
  /** Failures since the last forget(). */
  retries(key: K): number;
  forget(key: K): void;
}

/** client-go's DefaultTypedControllerRateLimiter. */
export function defaultRateLimiter<K extends string>(clock: Clock): RateLimiter<K> {
  return new MaxOf<K>([new ExponentialDelay(5, 1_000_000), new Bucket(clock, 10, 100)]);
}

/** A delay for each key, doubling with each of its failures. */
export class ExponentialDelay<K extends string> implements RateLimiter<K> {
  readonly #firstMs: number;
  readonly #longestMs: number;
  /** Failures since the last forget(); a key without any is not here. */
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

/** One for all keys. Each failure takes a token; without one it waits for its own, in the order they came. */
export class Bucket<K extends string> implements RateLimiter<K> {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  /** Below 0: so many are promised already. */
  #tokens: number;
  /** When #tokens was right, by the clock. */
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

  /** It does not know keys. */
  retries(): number {
    return 0;
  }

  /** A token that was taken is gone. */
  forget(): void {}
}

/** The longest delay of several; each of them counts every failure. */
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
