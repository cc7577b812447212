/**
 * Tells of node writes as Events, so that reconciles of many pools that move nodes of one do not use up the events that
 * this one may have: the first write is told at once, those of the next second together.
 *
 * Not guaranteed: what a second holds back is lost when the process is killed in it. flush() tells it.
 */
import type { Clock } from '../controller/clock.ts';
import { moveEvents } from './events.ts';
import type { NodeMove } from './node-move.ts';
import type { PoolEvent } from './ports.ts';

const WINDOW_MS = 1_000;

export interface MoveRecorderOptions {
  clock: Pick<Clock, 'after'>;
  tell: (pool: string, event: PoolEvent) => void;
}

export class MoveRecorder {
  readonly #options: MoveRecorderOptions;
  /** By pool, of which something was told less than a second ago: what came since. */
  readonly #waiting = new Map<string, NodeMove[]>();

  constructor(options: MoveRecorderOptions) {
    this.#options = options;
  }

  add(moves: readonly NodeMove[]): void {
    for (const pool of new Set(moves.flatMap(({ from, to }) => [from ?? [], to ?? []].flat()))) {
      const concerning = moves.filter(({ from, to }) => from === pool || to === pool);
      const waiting = this.#waiting.get(pool);
      if (waiting === undefined) this.#tell(pool, concerning);
      else waiting.push(...concerning);
    }
  }

  /** Tells all that waits. */
  flush(): void {
    for (const [pool, moves] of this.#waiting) this.#write(pool, moves.splice(0));
  }

  #tell(pool: string, moves: NodeMove[]): void {
    this.#write(pool, moves);
    this.#waiting.set(pool, []);
    this.#options.clock.after(WINDOW_MS, () => {
      const waiting = this.#waiting.get(pool) ?? [];
      if (waiting.length > 0) this.#tell(pool, waiting);
      else this.#waiting.delete(pool);
    });
  }

  #write(pool: string, moves: NodeMove[]): void {
    for (const event of moveEvents(moves).get(pool) ?? []) this.#options.tell(pool, event);
  }
}
