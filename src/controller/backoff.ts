/**
 * Growing delays between attempts at one thing: 0.8 s doubling, each lengthened at random by up to as much again, so that
 * many clients of a server that comes back do not arrive together. No delay is longer than 30 s: the last ones are 15 s
 * to 30 s (client-go's are 30 s to 60 s). They begin anew after a success, and when the last failure is 2 min past.
 */
import type { Clock } from './clock.ts';

export interface BackoffOptions {
  clock: Clock;
  /** From 0 up to, not including, 1. */
  random: () => number;
  /** Milliseconds, before jitter. */
  initialMs?: number;
  /** The longest delay in milliseconds, jitter included. */
  capMs?: number;
  /** A pause between failures after which the delays begin anew. */
  resetMs?: number;
}

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #initialMs: number;
  readonly #capMs: number;
  readonly #resetMs: number;
  /** The next delay before jitter. */
  #baseMs: number;
  /** When the last delay was over, by the clock. */
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor({ clock, random, initialMs = 800, capMs = 30_000, resetMs = 120_000 }: BackoffOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#initialMs = initialMs;
    this.#capMs = capMs;
    this.#resetMs = resetMs;
    this.#baseMs = initialMs;
  }

  /** It worked: the next failure counts as the first. */
  reset(): void {
    this.#baseMs = this.#initialMs;
  }

  /** Milliseconds to wait after one more failure. */
  next(): number {
    const now = this.#clock.now();
    if (now - this.#lastEnd > this.#resetMs) this.#baseMs = this.#initialMs;
    const delay = this.#baseMs * (1 + this.#random());
    this.#baseMs = Math.min(this.#baseMs * 2, this.#capMs / 2);
    this.#lastEnd = now + delay;
    return delay;
  }
}
