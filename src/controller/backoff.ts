/**
 * Exponential backoff with jitter: 0.8 s, doubling. Each delay is extended at random by up to its own length, so that
 * the clients of a restarted server do not all return at once. No delay exceeds 30 s; the last ones take 15 s to 30 s
 * (client-go: 30 s to 60 s). The delays start again after a success, and 2 min after the last failure.
 */
import type { Clock } from './clock.ts';

/** The first delay, before jitter. */
const INITIAL_MS = 800;
/** The maximum delay, including jitter. */
const CAP_MS = 30_000;
/** Time without a failure after which the delays start again. */
const RESET_MS = 120_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** The next delay, before jitter. */
  #baseMs = INITIAL_MS;
  /** Clock time at which the last delay ended. */
  #lastEnd = Number.NEGATIVE_INFINITY;

  /** @param options random() returns a number in [0, 1) */
  constructor({ clock, random }: { clock: Clock; random: () => number }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** After a success: the next delay is the first one again. */
  reset(): void {
    this.#baseMs = INITIAL_MS;
  }

  /** The delay in milliseconds after a failure. */
  next(): number {
    const now = this.#clock.now();
    if (now - this.#lastEnd > RESET_MS) this.#baseMs = INITIAL_MS;
    const delay = this.#baseMs * (1 + this.#random());
    this.#baseMs = Math.min(this.#baseMs * 2, CAP_MS / 2);
    this.#lastEnd = now + delay;
    return delay;
  }
}

/**
 * Milliseconds before the retry after the nth conflict: 0 after the first, as most other writers write once (on a node,
 * the kubelet's heartbeat). Then random, so that two writers do not stay in step: up to 4 ms, 8 ms, …, at most 200 ms.
 * @param random in [0, 1)
 */
export function conflictDelay(attempt: number, random = Math.random()): number {
  return attempt <= 1 ? 0 : random * Math.min(2 ** attempt, 200);
}
