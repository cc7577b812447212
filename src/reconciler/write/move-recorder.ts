/**
 * Records node writes as Events. Reconciles of many pools that move nodes of one pool do not use up its rate limit: the
 * first write is recorded at once, those alike of the next second as one Event.
 *
 * Not guaranteed: writes that wait for the end of a second are lost when the process is killed. flush() records them.
 */
import type { Clock } from '../../controller/clock.ts';
import type { PoolEvent } from '../../kube/cluster.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { moveEvents } from '../events.ts';
import type { NodeMove } from '../plan/node-move.ts';

const WINDOW_MS = 1_000;

export interface MoveRecorderOptions {
  clock: Pick<Clock, 'after'>;
  /** Undefined when there is none: no Event is recorded. */
  poolOf: (name: string) => NodePool | undefined;
  record: (pool: NodePool, event: PoolEvent) => void;
}

export class MoveRecorder {
  readonly #options: MoveRecorderOptions;
  /** Writes since an Event that was recorded less than a second ago, by pool and kind. */
  readonly #waiting = new Map<string, { pool: NodePool; moves: NodeMove[] }>();

  constructor(options: MoveRecorderOptions) {
    this.#options = options;
  }

  add(moves: readonly NodeMove[]): void {
    const concerns = moves.flatMap(move =>
      concernsOf(move).flatMap(([what, name]) => {
        // Looked up now: the pool may be deleted within the second.
        const pool = this.#options.poolOf(name);
        return pool === undefined ? [] : [{ key: `${what} ${name} ${pool.metadata.uid}`, pool, move }];
      }),
    );
    for (const [key, group] of Map.groupBy(concerns, concern => concern.key)) {
      const waiting = this.#waiting.get(key);
      const added = group.map(({ move }) => move);
      if (waiting !== undefined) waiting.moves.push(...added);
      else for (const { pool } of group.slice(0, 1)) this.#begin(key, pool, added);
    }
  }

  /** Records all writes that wait. */
  flush(): void {
    for (const { pool, moves } of this.#waiting.values()) this.#write(pool, moves.splice(0));
  }

  #begin(key: string, pool: NodePool, moves: NodeMove[]): void {
    this.#write(pool, moves);
    const waiting: { pool: NodePool; moves: NodeMove[] } = { pool, moves: [] };
    this.#waiting.set(key, waiting);
    this.#options.clock.after(WINDOW_MS, () => {
      if (waiting.moves.length > 0) this.#begin(key, pool, waiting.moves);
      else this.#waiting.delete(key);
    });
  }

  #write(pool: NodePool, moves: NodeMove[]): void {
    for (const event of moveEvents(moves).get(pool.metadata.name) ?? []) this.#options.record(pool, event);
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
