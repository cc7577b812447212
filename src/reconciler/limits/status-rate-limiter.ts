/**
 * Rate limit of status writes of one pool in `reconcile --watch`: a burst of 20, then one every 2 s. A kubelet can change
 * what the status is computed from at any rate, and every write goes to all watchers of pools. Nothing is lost: a pool that
 * is held back is reconciled again after the delay. The first status of a generation is never held back.
 *
 * Not guaranteed: a bound over several processes.
 */
import type { Clock } from '../../controller/clock.ts';
import type { ObjectMeta } from '../../nodepool/types.ts';

const BURST = 20;
const INTERVAL_MS = 2_000;

type Pool = Pick<ObjectMeta, 'name' | 'uid' | 'generation'>;

interface Entry {
  /** When the whole burst is available again. */
  freeAt: number;
  /** metadata.generation of the status that was written last. */
  generation: number | undefined;
}

export class StatusRateLimiter {
  readonly #clock: Pick<Clock, 'now'>;
  /** In the order of their last writes. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Milliseconds until the status may be written; 0: now. */
  wait(pool: Pool): number {
    const entry = this.#entries.get(keyOf(pool));
    if (entry === undefined || entry.generation !== pool.generation) return 0;
    return Math.max(0, entry.freeAt - this.#clock.now() - (BURST - 1) * INTERVAL_MS);
  }

  /** The server accepted a write. */
  written(pool: Pool): void {
    const [key, now] = [keyOf(pool), this.#clock.now()];
    const freeAt = Math.max(this.#entries.get(key)?.freeAt ?? now, now) + INTERVAL_MS;
    this.#entries.delete(key);
    this.#entries.set(key, { freeAt, generation: pool.generation });
    for (const [oldest, entry] of this.#entries) {
      if (entry.freeAt > now) break;
      this.#entries.delete(oldest);
    }
  }
}

function keyOf({ name, uid }: Pool): string {
  return `${name} ${uid}`;
}
