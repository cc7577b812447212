/**
 * How often the status of one pool is written by a process that keeps reconciling: 20 writes at once, then one every 2 s.
 * A kubelet can change what a status says as often as it likes, and every write goes to all who watch pools. Nothing is
 * lost: a pool that is held back is reconciled again when its time has come, and its status is written as it is then.
 * The first status of a spec is never held back: somebody who may write pools waits for it.
 *
 * Not guaranteed: a bound over several processes.
 */
import type { Clock } from '../controller/clock.ts';
import type { ObjectMeta } from '../nodepool/types.ts';

const BURST = 20;
const INTERVAL_MS = 2_000;

type Pool = Pick<ObjectMeta, 'name' | 'uid' | 'generation'>;

interface Entry {
  /** When all of the burst is free again. */
  freeAt: number;
  /** Of the spec whose status was written last. */
  generation: number | undefined;
}

export class StatusPace {
  readonly #clock: Pick<Clock, 'now'>;
  /** The pool that was written last comes last. */
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

  /** The server took a write. */
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
