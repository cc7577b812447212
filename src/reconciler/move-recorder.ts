/**
 * Tells of node writes as Events, so that reconciles of many pools that move nodes of one do not use up the events that
 * this one may have: the first write is told at once, those alike of the next second together.
 *
 * Not guaranteed: what a second holds back is lost when the process is killed in it. flush() tells it.
 */
import type { Clock } from '../controller/clock.ts';
import type { NodePool } from '../nodepool/types.ts';
import { moveEvents } from './events.ts';
import type { NodeMove } from './node-move.ts';
import type { PoolEvent } from './ports.ts';

const WINDOW_MS = 1_000;

export interface MoveRecorderOptions {
  clock: Pick<Clock, 'after'>;
  /** Undefined when there is none: nothing is told of it. */
  poolOf: (name: string) => NodePool | undefined;
  tell: (pool: NodePool, event: PoolEvent) => void;
}

export class MoveRecorder {
  readonly #options: MoveRecorderOptions;
  /** By what is told less than a second ago: what came since. */
  readonly #waiting = new Map<string, { pool: NodePool; moves: NodeMove[] }>();

  constructor(options: MoveRecorderOptions) {
    this.#options = options;
  }

  add(moves: readonly NodeMove[]): void {
    const concerns = moves.flatMap(move =>
      concernsOf(move).flatMap(([what, name]) => {
        // Now: it may be deleted before the second is over.
        const pool = this.#options.poolOf(name);
        return pool === undefined ? [] : [{ key: `${what} ${name} ${pool.metadata.uid}`, pool, move }];
      }),
    );
    for (const [key, group] of Map.groupBy(concerns, concern => concern.key)) {
      const waiting = this.#waiting.get(key);
      const added = group.map(({ move }) => move);
      if (waiting !== undefined) waiting.moves.push(...added);
      else for (const { pool } of group.slice(0, 1)) this.#tell(key, pool, added);
    }
  }

  /** Tells all that waits. */
  flush(): void {
    for (const { pool, moves } of this.#waiting.values()) this.#write(pool, moves.splice(0));
  }

  #tell(key: string, pool: NodePool, moves: NodeMove[]): void {
    this.#write(pool, moves);
    const waiting: { pool: NodePool; moves: NodeMove[] } = { pool, moves: [] };
    this.#waiting.set(key, waiting);
    this.#options.clock.after(WINDOW_MS, () => {
      if (waiting.moves.length > 0) this.#tell(key, pool, waiting.moves);
      else this.#waiting.delete(key);
    });
  }

  #write(pool: NodePool, moves: NodeMove[]): void {
    for (const event of moveEvents(moves).get(pool.metadata.name) ?? []) this.#options.tell(pool, event);
  }
}

/** Each pool that the write concerns, and how. */
function concernsOf({ from, to }: NodeMove): (readonly ['joined' | 'left' | 'updated', string])[] {
  if (from === to) return to === undefined ? [] : [['updated', to]];
  return [
    ...(to === undefined ? [] : [['joined', to] as const]),
    ...(from === undefined ? [] : [['left', from] as const]),
  ];
}
