/**
 * In a run without caches, notices that a pool was paused while its nodes are written: reads it again before a write when
 * it was read more than a second ago. A watch needs no such read: its cache has the pool.
 */
import type { Clock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePlan } from '../nodepool/plan.ts';
import { isPaused } from '../nodepool/rollout.ts';
import type { LiveReadDeps } from './live-reads.ts';

export interface PausedMeanwhileDeps extends LiveReadDeps {
  clock: Pick<Clock, 'now'>;
  isFollowed?: boolean;
  dryRun: boolean;
}

const MAX_AGE_MS = 1_000;

export class PausedMeanwhile {
  readonly #deps: PausedMeanwhileDeps;
  /** When each pool was read, by its name; the run began with all of them. */
  readonly #read = new Map<string, number>();
  readonly #begun: number;
  /** Reads under way, by pool. */
  readonly #reading = new Map<string, Promise<boolean>>();

  constructor(deps: PausedMeanwhileDeps) {
    this.#deps = deps;
    this.#begun = deps.clock.now();
  }

  /** Whether a pool of the plan is paused by now: the cluster state has it, and the caller plans again. */
  async read({ previous, owner }: Pick<NodePlan, 'previous' | 'owner'>): Promise<boolean> {
    const { isFollowed = false, dryRun } = this.#deps;
    if (isFollowed || dryRun) return false;
    const pools = new Set([previous, owner].filter(name => name !== undefined));
    const paused = await Promise.all([...pools].map(name => this.#isPausedNow(name)));
    return paused.includes(true);
  }

  async #isPausedNow(name: string): Promise<boolean> {
    const { clock, state } = this.#deps;
    if (!state.isStaying(name)) return false;
    const running = this.#reading.get(name);
    if (running !== undefined) return running;
    if (clock.now() - (this.#read.get(name) ?? this.#begun) < MAX_AGE_MS) return false;
    const reading = this.#ask(name).finally(() => {
      this.#reading.delete(name);
      this.#read.set(name, clock.now());
    });
    this.#reading.set(name, reading);
    return reading;
  }

  /** Any other change of the pool is left to the end of the run, which reports it. */
  async #ask(name: string): Promise<boolean> {
    const { cluster, state } = this.#deps;
    const [uid, asked] = [state.pool(name)?.metadata.uid, state.beginRead()];
    // A pool that cannot be read now could be read when the run began.
    const pool = await cluster.pools.getCoerced(name).catch(ignoreRefusal);
    if (pool === undefined || pool.metadata.uid !== uid || !isPaused(pool)) return false;
    state.setPool(pool, asked);
    return true;
  }
}

function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof NodepoolError)) throw error;
  return undefined;
}
