/**
 * Exponential backoff with jitter: 0.8 s doubling, each delay extended at random by up to its length, so that many
 * clients of a restarted server do not return at the same time. No delay exceeds 30 s: the last ones are 15 s to 30 s
 * (client-go: 30 s to 60 s). The delays start again after a success, and 2 min after the last failure.
 */
import type { Clock } from './clock.ts';

export interface BackoffOptions {
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  /** The first delay in milliseconds, before jitter. */
  initialMs?: number;
  /** The maximum delay in milliseconds, including jitter. */
  capMs?: number;
  /** Milliseconds without a failure after which the delays start again. */
  resetMs?: number;
}

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #initialMs: number;
  readonly #capMs: number;
  readonly #resetMs: number;
  /** The next delay, before jitter. */
  #baseMs: number;
  /** Clock time at which the last delay ended. */
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor({ clock, random, initialMs = 800, capMs = 30_000, resetMs = 120_000 }: BackoffOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#initialMs = initialMs;
    this.#capMs = capMs;
    this.#resetMs = resetMs;
    this.#baseMs = initialMs;
  }

  /** After a success: the next delay is the first one again. */
  reset(): void {
    this.#baseMs = this.#initialMs;
  }

  /** The delay in milliseconds after a failure. */
  next(): number {
    const now = this.#clock.now();
    if (now - this.#lastEnd > this.#resetMs) this.#baseMs = this.#initialMs;
    const delay = this.#baseMs * (1 + this.#random());
    this.#baseMs = Math.min(this.#baseMs * 2, this.#capMs / 2);
    this.#lastEnd = now + delay;
    return delay;
  }
}
