/**
 * The delay of a failed key, with client-go's numbers (util/workqueue). It is the maximum of:
 * - the key's own delay: 5 ms, doubling with each failure, up to 1000 s;
 * - a token bucket for all keys: a burst of 100 failures, then 10 a second. So a cause that fails every key (no
 *   permission, a server that answers 500) costs 10 attempts a second in the long run, however many keys there are.
 *
 * Without jitter, because keys fail at different times. Keys that did not fail are not limited.
 */
import type { Clock } from './clock.ts';

export interface RateLimiter<K extends string> {
  /** Counts a failure and returns its delay in milliseconds. */
  when(key: K): number;
  /** Failures since the last forget(). */
  retries(key: K): number;
  forget(key: K): void;
}

/** client-go's DefaultTypedControllerRateLimiter. */
export function defaultRateLimiter<K extends string>(clock: Clock): RateLimiter<K> {
  return new MaxOf<K>([new ExponentialDelay(5, 1_000_000), new Bucket(clock, 10, 100)]);
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

/** A token bucket for all keys. Each failure takes a token; without one it waits for the next, in order. */
export class Bucket<K extends string> implements RateLimiter<K> {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  /** Negative: the number of failures that wait for a token. */
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

  /** Tokens are not returned. */
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
