/**
 * How long a key that failed waits: 5 ms doubling with each failure to 1000 s, client-go's numbers for its work queue.
 * No jitter: keys fail each at their own time. Not guaranteed: a bound on all keys together.
 */
const FIRST_MS = 5;
const LONGEST_MS = 1_000_000;

export class RateLimiter<K extends string> {
  /** Failures since the last forget(); a key without any is not here. */
  readonly #failures = new Map<K, number>();

  /** Counts one failure and gives the milliseconds to wait for it. */
  when(key: K): number {
    const failures = this.retries(key);
    this.#failures.set(key, failures + 1);
    return Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
  }

  /** Failures since the last forget(). */
  retries(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }
}
