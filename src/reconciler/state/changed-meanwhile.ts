/**
 * In a run without caches, notices that a pool was changed while its nodes are written: reads it again before a write or an
 * eviction when it was read more than a second ago. A watch needs no such read: its cache has the pool.
 */
import type { Clock } from '../../controller/clock.ts';
import { ForbiddenError, NodepoolError } from '../../nodepool/errors.ts';
import type { NodePlan } from '../../nodepool/plan/plan.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { specChangedFailure } from '../failure.ts';
import { isSamePool, type LiveReadDeps } from './live-reads.ts';

export interface ChangedMeanwhileDeps extends LiveReadDeps {
  clock: Pick<Clock, 'now'>;
  hasCaches?: boolean;
}

/** `paused`: the cluster state has it. `edited`: its spec. `gone`: deleted or recreated, and the cluster state has it as it was. */
type Found = 'same' | 'paused' | 'edited' | 'gone';

type Pools = Pick<NodePlan, 'previous' | 'owner'>;

/** A pool or a node that was read more than that ago is read again. */
export const MAX_AGE_MS = 1_000;

/** Somebody edited a pool while a run without caches wrote its nodes. */
export class SpecChangedError extends NodepoolError {
  readonly pool: string;

  constructor(pool: string) {
    const { message, next } = specChangedFailure(pool);
    super('cluster', message, next);
    this.pool = pool;
  }
}

export class ChangedMeanwhile {
  readonly #deps: ChangedMeanwhileDeps;
  /** When each pool was read, by its name, and what was found; the run began with all of them. */
  readonly #read = new Map<string, { at: number; found: Found }>();
  readonly #begun: number;
  /** The pools with which the run began: of their specs a person was shown what they do. */
  readonly #known: ReadonlyMap<string, NodePool>;
  /** Reads under way, by pool. */
  readonly #reading = new Map<string, Promise<Found>>();

  constructor(deps: ChangedMeanwhileDeps) {
    this.#deps = deps;
    const { state, hasCaches = false } = deps;
    // A later reconciler of the run has the pools as they were read at first. Tests have clocks of their own.
    this.#begun = Math.min(state.madeAt, deps.clock.now());
    this.#known = new Map(hasCaches ? [] : [...state.pools()].map(pool => [pool.metadata.name, pool]));
  }

  /**
   * Whether a pool of the plan is paused by now: the cluster state has it, and the caller plans again. That one is gone is left to
   * the end of the run. Throws SpecChangedError where the spec of one was edited: neither the former nor the new one is written; NodepoolError
   * where one cannot be read.
   */
  async isPaused(plan: Pools): Promise<boolean> {
    const found = await this.#found(plan);
    for (const [pool, what] of found) if (what === 'edited') throw new SpecChangedError(pool);
    return found.some(([, what]) => what === 'paused');
  }

  /** Whether a pool of the plan is the one that was planned with, as far as the server says. Throws NodepoolError where one cannot be read. */
  async isSame(plan: Pools): Promise<boolean> {
    return (await this.#found(plan)).every(([, what]) => what === 'same');
  }

  async #found({ previous, owner }: Pools): Promise<[pool: string, found: Found][]> {
    const { hasCaches = false, cluster } = this.#deps;
    if (hasCaches || cluster.isDryRun) return [];
    const pools = new Set([previous, owner].filter(name => name !== undefined));
    return Promise.all([...pools].map(async name => [name, await this.#now(name)] as [string, Found]));
  }

  async #now(name: string): Promise<Found> {
    const { clock, state } = this.#deps;
    if (!state.isActive(name)) return 'same';
    if (this.#isEdited(name)) return 'edited';
    const running = this.#reading.get(name);
    if (running !== undefined) return running;
    const { at, found } = this.#read.get(name) ?? { at: this.#begun, found: 'same' };
    // The answers to writes have the pool, too: a cold run writes the finalizer right before the nodes.
    const seenAt = Math.min(state.poolReadAt(name), clock.now());
    const isKnown = clock.now() - at < MAX_AGE_MS || (found === 'same' && clock.now() - seenAt < MAX_AGE_MS);
    // A pool that is paused is so in the cluster state, and may have been resumed there since.
    if (isKnown) return found === 'paused' ? 'same' : found;
    const reading = this.#ask(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** Whether the cluster state has got another spec since: pools are read for other reasons, too. */
  #isEdited(name: string): boolean {
    const [known, now] = [this.#known.get(name), this.#deps.state.pool(name)];
    return known !== undefined && now !== undefined && foundOf(known, now) === 'edited';
  }

  async #ask(name: string): Promise<Found> {
    const { cluster, state, clock } = this.#deps;
    const [known, asked] = [state.pool(name), state.beginRead()];
    // Whoever may list pools, and not get one, has them as they were when the run began.
    const pool = await cluster.pools.getCoerced(name).catch(ignoreRefusal);
    const found = pool === 'refused' || known === undefined ? 'same' : foundOf(known, pool);
    this.#read.set(name, { at: clock.now(), found });
    if (found === 'paused' && pool !== 'refused' && pool !== undefined) state.setPool(pool, asked);
    return found;
  }
}

function foundOf(known: NodePool, pool: NodePool | undefined): Found {
  const { uid, deletionTimestamp } = known.metadata;
  if (pool === undefined || pool.metadata.uid !== uid) return 'gone';
  if (pool.metadata.deletionTimestamp !== deletionTimestamp) return 'gone';
  if (isSamePool(known, pool)) return 'same';
  return isPaused(pool) ? 'paused' : 'edited';
}

function ignoreRefusal(error: unknown): 'refused' {
  if (!(error instanceof ForbiddenError)) throw error;
  return 'refused';
}
