/**
 * How often the status of one pool is written by a process that keeps reconciling: 20 writes at once, then one every 2 s.
 * A kubelet can change what a status says as often as it likes, and every write goes to all who watch pools. Nothing is
 * lost: a pool that is held back is reconciled again when its time has come, and its status is written as it is then.
 *
 * Not guaranteed: a bound over several processes.
 */
import type { Clock } from '../controller/clock.ts';

const BURST = 20;
const INTERVAL_MS = 2_000;

export class StatusPace {
  readonly #clock: Pick<Clock, 'now'>;
  /** By pool: when all of the burst is free again. The pool that was written last comes last. */
  readonly #freeAt = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Milliseconds until the status may be written; 0: now. */
  wait(pool: string): number {
    const now = this.#clock.now();
    return Math.max(0, (this.#freeAt.get(pool) ?? now) - now - (BURST - 1) * INTERVAL_MS);
  }

  /** The server took a write. */
  written(pool: string): void {
    const now = this.#clock.now();
    const freeAt = Math.max(this.#freeAt.get(pool) ?? now, now) + INTERVAL_MS;
    this.#freeAt.delete(pool);
    this.#freeAt.set(pool, freeAt);
    for (const [oldest, at] of this.#freeAt) {
      if (at > now) break;
      this.#freeAt.delete(oldest);
    }
  }
}
