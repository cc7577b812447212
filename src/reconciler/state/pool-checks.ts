/**
 * Reads a pool from the server before one of its nodes is written, where the cluster state may not be enough:
 * - ChangedMeanwhile: a run without caches read the pool more than a second ago;
 * - StalePools: the node was written for a newer spec than the cluster state has;
 * - GonePools: the node is about to be released, because its pool is gone.
 */
import { ForbiddenError, NodepoolError } from '../../nodepool/errors.ts';
import type { NodePlan } from '../../nodepool/plan/plan.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { Node, NodePool, ObjectMeta } from '../../nodepool/types.ts';
import type { ReconcilerOptions } from '../options.ts';
import { specChangedFailure } from '../outcome.ts';
import { assertNotRestored, isSamePool, notDeleted, readPool } from './live-reads.ts';

/** `paused`: the cluster state has it. `edited`: its spec. `gone`: deleted or recreated, and the cluster state has it as it was. */
type PoolChange = 'same' | 'paused' | 'edited' | 'gone';

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

/** Without caches: reads a pool again before a write or an eviction when it was read more than a second ago. */
export class ChangedMeanwhile {
  readonly #options: ReconcilerOptions;
  /** When each pool was read, by its name, and what was found; the run began with all of them. */
  readonly #lastRead = new Map<string, { at: number; found: PoolChange }>();
  readonly #begun: number;
  /** Reads in progress, by pool. */
  readonly #reading = new Map<string, Promise<PoolChange>>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const { state } = options;
    // A later reconciler of the run has the pools as they were read at first. Tests have clocks of their own.
    this.#begun = Math.min(state.madeAt, options.clock.now());
  }

  /**
   * `paused`: a pool of the plan is paused by now, the cluster state has it, and the caller plans again. That one is gone is left to
   * the end of the run. Throws SpecChangedError where the spec of one was edited: neither the former nor the new one is written; NodepoolError
   * where one cannot be read.
   */
  async check(plan: NodePlan): Promise<'same' | 'paused'> {
    const found = await this.#found(plan);
    for (const [pool, what] of found) if (what === 'edited') throw new SpecChangedError(pool);
    return found.some(([, what]) => what === 'paused') ? 'paused' : 'same';
  }

  /** Whether a pool of the plan is the one that was planned with, as far as the server says. Throws NodepoolError where one cannot be read. */
  async isSame(plan: NodePlan): Promise<boolean> {
    return (await this.#found(plan)).every(([, what]) => what === 'same');
  }

  async #found({ previous, owner }: NodePlan): Promise<[pool: string, found: PoolChange][]> {
    const { hasCaches = false, cluster } = this.#options;
    if (hasCaches || cluster.isDryRun) return [];
    const pools = new Set([previous, owner].filter(name => name !== undefined));
    return Promise.all([...pools].map(async name => [name, await this.#now(name)] as [string, PoolChange]));
  }

  async #now(name: string): Promise<PoolChange> {
    const { clock, state } = this.#options;
    if (!state.isActive(name)) return 'same';
    if (this.#isEdited(name)) return 'edited';
    const running = this.#reading.get(name);
    if (running !== undefined) return running;
    const { at, found } = this.#lastRead.get(name) ?? { at: this.#begun, found: 'same' };
    // The answers to writes have the pool, too: a cold run writes the finalizer right before the nodes.
    const seenAt = Math.min(state.poolReadAt(name), clock.now());
    const isKnown = clock.now() - at < MAX_AGE_MS || (found === 'same' && clock.now() - seenAt < MAX_AGE_MS);
    // A pool that is paused is so in the cluster state, and may have been resumed there since.
    if (isKnown) return found === 'paused' ? 'same' : found;
    const reading = this.#read(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** Throws SpecChangedError where the spec is not that of the start. Pausing is no edit; a new UID is another pool. */
  assertUnedited(name: string): void {
    const { hasCaches = false, cluster, state } = this.#options;
    if (hasCaches || cluster.isDryRun) return;
    const [known, now] = [state.poolsAtStart.get(name), state.pool(name)];
    if (known === undefined || now === undefined || foundOf(known, now) === 'gone') return;
    const isOnlyPaused = isPaused(now) && isSamePool({ ...known, spec: { ...known.spec, paused: true } }, now);
    if (!isOnlyPaused && !isSamePool(known, now)) throw new SpecChangedError(name);
  }

  /** Whether the cluster state has got another spec since: pools are read for other reasons, too. */
  #isEdited(name: string): boolean {
    const { state } = this.#options;
    const [known, now] = [state.poolsAtStart.get(name), state.pool(name)];
    return known !== undefined && now !== undefined && foundOf(known, now) === 'edited';
  }

  async #read(name: string): Promise<PoolChange> {
    const { cluster, state, clock } = this.#options;
    const [known, readTime] = [state.pool(name), state.beginRead()];
    // Whoever may list pools, and not get one, has them as they were when the run began.
    const pool = await cluster.pools.getCoerced(name).catch(ignoreRefusal);
    const found = pool === 'refused' || known === undefined ? 'same' : foundOf(known, pool);
    this.#lastRead.set(name, { at: clock.now(), found });
    if (found === 'paused' && pool !== 'refused' && pool !== undefined) state.setPool(pool, readTime);
    return found;
  }
}

function foundOf(known: NodePool, pool: NodePool | undefined): PoolChange {
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

/**
 * Notices, before a node is written, that the cluster state has an older spec of its pool than the one that the node has: the caches
 * of pools and nodes lag behind each other, and another process writes nodes, too. The record of a node has the generation of
 * the pool for which it was written, so the pool is read from the server.
 *
 * The answer is valid for the nodes as the cluster state had them at the read: one that is written for a newer spec since has
 * another resourceVersion, and the patch fails with a conflict.
 * Not guaranteed: that the generation is authentic, as the record is not. One that is higher than the server's, of a kubelet or of
 * a pool that was restored or recreated without releasing its nodes, costs one read of the pool for all its nodes that are
 * written, and their next write corrects it. A pool that was recreated counts from 1, so a spec of the earlier one is not noticed
 * here. Nor is a newer spec that changed nothing on the node: its record has the generation of its last write. A node
 * that joins by an older spec gets that until the cache has the newer one.
 */
export class StalePools {
  readonly #options: ReconcilerOptions;
  /** Nodes that had their record when the pool was read. */
  readonly #checked = new WeakSet<Node>();
  /** Reads in progress, by name of the pool. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Whether the node was written for a newer spec of its pool, as far as is known: read() comes before its write. */
  isBehind(name: string): boolean {
    return this.#poolBehind(name) !== undefined;
  }

  /** The caller plans again. Throws NodepoolError when the pool cannot be read. @param name of a node */
  async read(name: string): Promise<void> {
    const pool = this.#poolBehind(name);
    if (pool === undefined) return;
    const reading = this.#reading.get(pool.name) ?? this.#readPool(pool);
    this.#reading.set(pool.name, reading);
    await reading;
  }

  #poolBehind(name: string): ObjectMeta | undefined {
    const { state } = this.#options;
    const [node, record] = [state.node(name), state.ownership(name)?.record];
    const pool = record && state.pool(record.pool)?.metadata;
    if (node === undefined || record?.generation === undefined || pool?.generation === undefined) return undefined;
    return record.generation > pool.generation && !this.#checked.has(node) ? pool : undefined;
  }

  async #readPool({ name, uid }: ObjectMeta): Promise<void> {
    const managed = this.#options.state.managedNodes(name);
    try {
      await readPool(name, uid, this.#options);
      for (const node of managed) this.#checked.add(node);
    } finally {
      this.#reading.delete(name);
    }
  }
}

interface PoolRead {
  /** The nodes that carried the pool's record at the read. */
  nodes: ReadonlySet<Node>;
  isGone: Promise<boolean>;
}

/**
 * Reads a pool from the server before its nodes are released because it is gone: the cluster state may be stale or wrong.
 *
 * The answer is valid for the nodes as the cluster state had them at the read: if the pool has been recreated and has got such
 * a node since, the node has another resourceVersion, and the patch that releases it fails with a conflict.
 */
export class GonePools {
  readonly #options: ReconcilerOptions;
  /** By the pool's name. */
  readonly #reads = new Map<string, PoolRead>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Whether it releases no node, or its pool is gone or being deleted. If not, the state has the pool: plan again. */
  async mayRelease({ node, previous, owner }: NodePlan): Promise<boolean> {
    if (previous === undefined || previous === owner || this.#options.state.isActive(previous)) return true;
    const known = this.#reads.get(previous);
    return known?.nodes.has(node) ? known.isGone : this.read(previous);
  }

  /** Whether the pool is gone or has a deletionTimestamp. Updates the cluster state. */
  read(pool: string): Promise<boolean> {
    const read = { nodes: new Set(this.#options.state.managedNodes(pool)), isGone: this.#isGone(pool) };
    this.#reads.set(pool, read);
    const forget = () => {
      if (this.#reads.get(pool) === read) this.#reads.delete(pool);
    };
    read.isGone.then(isGone => isGone || forget(), forget);
    return read.isGone;
  }

  /** Called after the nodes of the pool were reconciled: a later release reads the pool again. */
  forget(pool: string): void {
    this.#reads.delete(pool);
  }

  async #isGone(name: string): Promise<boolean> {
    const { cluster, state } = this.#options;
    const [known, readTime] = [state.pool(name), state.beginRead()];
    const pool = await cluster.pools.getCoerced(name);
    if (pool === undefined) {
      state.removePool(name, known?.metadata.uid);
      return true;
    }
    const isKnown = pool.metadata.uid === known?.metadata.uid;
    // A dry run marks it for deletion in the cluster state alone.
    if (cluster.isDryRun && isKnown) return true;
    // The cluster state does not go back to an older resourceVersion: a plan from it would release the nodes.
    assertNotRestored(known, pool);
    state.setPool(pool, readTime);
    if (pool.metadata.deletionTimestamp !== undefined) return true;
    if (isKnown && !state.isActive(name)) throw notDeleted(pool);
    return false;
  }
}
