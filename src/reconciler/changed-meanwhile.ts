/**
 * In a run without caches, notices that a pool was changed while its nodes are written: reads it again before a write or an
 * eviction when it was read more than a second ago. A watch needs no such read: its cache has the pool.
 */
import type { Clock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePlan } from '../nodepool/plan.ts';
import { isPaused } from '../nodepool/rollout.ts';
import type { NodePool } from '../nodepool/types.ts';
import { isSamePool, type LiveReadDeps } from './live-reads.ts';

export interface ChangedMeanwhileDeps extends LiveReadDeps {
  clock: Pick<Clock, 'now'>;
  isFollowed?: boolean;
  dryRun: boolean;
}

/** `paused`: the cluster state has it. `changed`: edited, deleted or recreated, and the cluster state has it as it was. */
type Found = 'same' | 'paused' | 'changed';

type Pools = Pick<NodePlan, 'previous' | 'owner'>;

/** A pool or a node that was read more than that ago is read again. */
export const MAX_AGE_MS = 1_000;

export class ChangedMeanwhile {
  readonly #deps: ChangedMeanwhileDeps;
  /** When each pool was read, by its name, and what was found; the run began with all of them. */
  readonly #read = new Map<string, { at: number; found: Found }>();
  readonly #begun: number;
  /** Reads under way, by pool. */
  readonly #reading = new Map<string, Promise<Found>>();

  constructor(deps: ChangedMeanwhileDeps) {
    this.#deps = deps;
    this.#begun = deps.clock.now();
  }

  /**
   * Whether a pool of the plan is paused by now: the cluster state has it, and the caller plans again. Any other change of the
   * pool is left to the end of the run, which reports it.
   */
  async isPaused(plan: Pools): Promise<boolean> {
    return (await this.#found(plan)).includes('paused');
  }

  /** Whether a pool of the plan is the one that was planned with, as far as the server says. */
  async isSame(plan: Pools): Promise<boolean> {
    return (await this.#found(plan)).every(found => found === 'same');
  }

  async #found({ previous, owner }: Pools): Promise<Found[]> {
    const { isFollowed = false, dryRun } = this.#deps;
    if (isFollowed || dryRun) return [];
    const pools = new Set([previous, owner].filter(name => name !== undefined));
    return Promise.all([...pools].map(name => this.#now(name)));
  }

  async #now(name: string): Promise<Found> {
    const { clock, state } = this.#deps;
    if (!state.isStaying(name)) return 'same';
    const running = this.#reading.get(name);
    if (running !== undefined) return running;
    const { at, found } = this.#read.get(name) ?? { at: this.#begun, found: 'same' };
    // A pool that is paused is so in the cluster state, and may have been resumed there since.
    if (clock.now() - at < MAX_AGE_MS) return found === 'paused' ? 'same' : found;
    const reading = this.#ask(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #ask(name: string): Promise<Found> {
    const { cluster, state, clock } = this.#deps;
    const [known, asked] = [state.pool(name), state.beginRead()];
    // A pool that cannot be read now could be read when the run began.
    const pool = await cluster.pools.getCoerced(name).catch(ignoreRefusal);
    const found = pool === 'refused' || known === undefined ? 'same' : foundOf(known, pool);
    this.#read.set(name, { at: clock.now(), found });
    if (found === 'paused' && pool !== 'refused' && pool !== undefined) state.setPool(pool, asked);
    return found;
  }
}

function foundOf(known: NodePool, pool: NodePool | undefined): Found {
  if (pool === undefined) return 'changed';
  if (isSamePool(known, pool)) return 'same';
  return pool.metadata.uid === known.metadata.uid && isPaused(pool) ? 'paused' : 'changed';
}

function ignoreRefusal(error: unknown): 'refused' {
  if (!(error instanceof NodepoolError)) throw error;
  return 'refused';
}
