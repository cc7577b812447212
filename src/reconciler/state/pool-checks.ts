/**
 * Reads a pool from the server before one of its nodes is written, if the cluster state may not be sufficient:
 * - ChangedMeanwhile: a run without caches read the pool more than a second ago;
 * - StalePools: the node was written for a newer spec than in the cluster state;
 * - GonePools: the node is about to be released, because its pool is gone.
 */
import { ForbiddenError, NodepoolError } from '../../nodepool/errors.ts';
import type { NodePlan } from '../../nodepool/plan/plan.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { Node, NodePool, ObjectMeta } from '../../nodepool/types.ts';
import type { ReconcilerOptions } from '../options.ts';
import { specChangedFailure } from '../outcome.ts';
import { assertNotRestored, isSamePool, notDeleted, readPool } from './live-reads.ts';

/** `paused`: and the cluster state updated. `edited`: another spec. `gone`: deleted or recreated; state unchanged. */
type PoolChange = 'same' | 'paused' | 'edited' | 'gone';

/** A pool or node is read again if its last read is older. */
export const MAX_AGE_MS = 1_000;

/** The pool was edited while a run without caches wrote its nodes. */
export class SpecChangedError extends NodepoolError {
  readonly pool: string;

  constructor(pool: string) {
    const { message, next } = specChangedFailure(pool);
    super('cluster', message, next);
    this.pool = pool;
  }
}

/** Without caches: before a write or an eviction, reads a pool again if the last read was more than a second ago. */
export class ChangedMeanwhile {
  readonly #options: ReconcilerOptions;
  /** Time and result of each pool's last read, by name; at the start of the run, all pools were read. */
  readonly #lastRead = new Map<string, { at: number; found: PoolChange }>();
  readonly #begun: number;
  /** Reads in progress, by pool. */
  readonly #reading = new Map<string, Promise<PoolChange>>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const { state } = options;
    // A later reconciler of the run uses the pools of the first read. Tests have their own clocks.
    this.#begun = Math.min(state.madeAt, options.clock.now());
  }

  /**
   * `paused`: a pool of the plan is now paused, also in the cluster state: plan again. A deleted pool is handled at the
   * end of the run. Throws SpecChangedError if a spec was edited (neither the old nor the new spec is written),
   * NodepoolError if a pool cannot be read.
   */
  async check(plan: NodePlan): Promise<'same' | 'paused'> {
    const found = await this.#found(plan);
    for (const [pool, what] of found) if (what === 'edited') throw new SpecChangedError(pool);
    return found.some(([, what]) => what === 'paused') ? 'paused' : 'same';
  }

  /** Whether the server has the same pools as the plan. Throws NodepoolError if one cannot be read. */
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
    // Responses to writes contain the pool as well: a cold run writes the finalizer right before the nodes.
    const seenAt = Math.min(state.poolReadAt(name), clock.now());
    const isKnown = clock.now() - at < MAX_AGE_MS || (found === 'same' && clock.now() - seenAt < MAX_AGE_MS);
    // The cluster state knows about a pause, and the pool may have been resumed since.
    if (isKnown) return found === 'paused' ? 'same' : found;
    const reading = this.#read(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** Throws SpecChangedError if the spec has changed since the start. A pause is no edit; a new UID is another pool. */
  assertUnedited(name: string): void {
    const { hasCaches = false, cluster, state } = this.#options;
    if (hasCaches || cluster.isDryRun) return;
    const [known, now] = [state.poolsAtStart.get(name), state.pool(name)];
    if (known === undefined || now === undefined || foundOf(known, now) === 'gone') return;
    const isOnlyPaused = isPaused(now) && isSamePool({ ...known, spec: { ...known.spec, paused: true } }, now);
    if (!isOnlyPaused && !isSamePool(known, now)) throw new SpecChangedError(name);
  }

  /** Whether the cluster state has a new spec: pools are read for other reasons as well. */
  #isEdited(name: string): boolean {
    const { state } = this.#options;
    const [known, now] = [state.poolsAtStart.get(name), state.pool(name)];
    return known !== undefined && now !== undefined && foundOf(known, now) === 'edited';
  }

  async #read(name: string): Promise<PoolChange> {
    const { cluster, state, clock } = this.#options;
    const [known, readTime] = [state.pool(name), state.beginRead()];
    // Without permission to get a pool, it counts as unchanged since the list.
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
 * Detects, before a node is written, that the cluster state has an older spec of the node's pool than the node: the
 * caches of pools and nodes lag behind each other, and other processes write nodes as well. The record of a node has
 * the generation of its pool at the last write. If that is newer, the pool is read from the server.
 *
 * The answer is valid for the nodes in the cluster state at the read: a node written for a newer spec since has another
 * resourceVersion, so the patch fails with a conflict. Not guaranteed: that the generation is authentic, as for the
 * whole record. If it is higher than the server's (written by a kubelet, or the pool was restored or recreated without
 * releasing its nodes), it costs one read of the pool for all its nodes, and their next write corrects it. A recreated
 * pool counts from 1, so a spec of the earlier pool is not detected. Nor is a newer spec that changed nothing on the
 * node, because its record has the generation of its last write. A node that joins by an older spec gets that spec
 * until the cache has the newer one.
 */
export class StalePools {
  readonly #options: ReconcilerOptions;
  /** Nodes that had their record when the pool was read. */
  readonly #checked = new WeakSet<Node>();
  /** Reads in progress, by pool name. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Whether the node was probably written for a newer spec of its pool: call read() before its write. */
  isBehind(name: string): boolean {
    return this.#poolBehind(name) !== undefined;
  }

  /** Afterwards, plan again. Throws NodepoolError if the pool cannot be read. @param name of a node */
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
  /** Nodes with the pool's record at the time of the read. */
  nodes: ReadonlySet<Node>;
  isGone: Promise<boolean>;
}

/**
 * Reads a pool from the server before its nodes are released because it is gone: the cluster state may be stale or
 * wrong. The answer is valid for the nodes in the cluster state at the read: if the pool was recreated and got such a
 * node since, the node has another resourceVersion, and the patch that releases it fails with a conflict.
 */
export class GonePools {
  readonly #options: ReconcilerOptions;
  /** By pool name. */
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
    // A dry run marks it for deletion only in the cluster state.
    if (cluster.isDryRun && isKnown) return true;
    // The cluster state does not go back to an older resourceVersion, so a plan from it would release the nodes.
    assertNotRestored(known, pool);
    state.setPool(pool, readTime);
    if (pool.metadata.deletionTimestamp !== undefined) return true;
    if (isKnown && !state.isActive(name)) throw notDeleted(pool);
    return false;
  }
}
