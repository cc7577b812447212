/**
 * Lets the writes of a rollout through, one step at a time. The step is computed when a reconcile begins, and again at a write when
 * the pool or the readiness of a node has changed since. Writes under way count as in flight: the state does not have
 * them yet.
 *
 * Not guaranteed: the limit over several processes that write at the same time without a lease. Both choose the same nodes by the same
 * order, so one of two that overlap finds them written.
 */
import { type NowClock, systemClock } from '../../controller/clock.ts';
import { ifRefused, NodepoolError } from '../../nodepool/errors.ts';
import type { RolloutChange } from '../../nodepool/plan/record.ts';
import { rolloutHash } from '../../nodepool/rollout/rollout.ts';
import type { RolloutStep, RolloutStop } from '../../nodepool/rollout/rollout-step.ts';
import { timestamp } from '../../nodepool/timestamp.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import { recordOf, stepOf } from '../plan/rollout-plan.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { RolloutSightings } from '../state/rollout-sightings.ts';

interface PoolAdmission {
  pool: NodePool;
  /** Of the state when the step was computed. */
  readiness: number;
  /** Names that may be written: those of the step, and those under way. */
  allowed: ReadonlySet<string>;
  settlesAfterMs: number | undefined;
}

const NONE: ReadonlyMap<string, number | undefined> = new Map();

export class RolloutAdmission {
  readonly #state: ClusterState;
  readonly #now: () => Date;
  /** By name of the pool. */
  readonly #admissions = new Map<string, PoolAdmission>();
  /** Nodes whose write was let through and has not ended, by name of the pool, each with the generation that it is for. */
  readonly #underWay = new Map<string, Map<string, number | undefined>>();

  /** Of each pool that is stopped: the node may be gone before the status says so. */
  readonly #stops = new Map<string, { uid: string | undefined; rollout: string; stop: RolloutStop }>();
  readonly #sightings: RolloutSightings;

  /** Nodes whose last write failed: they are the last to be chosen. */
  readonly #refused: RefusedNodes;

  /** Nodes that stay under way after a write without an answer, until they are seen in another version than this. */
  readonly #unsure = new Map<string, string>();

  readonly #hasCaches: boolean;
  /** Of a run without caches: who was next when it began, by name of the pool. */
  readonly #first = new Map<string, ReadonlySet<string>>();

  /**
   * @param hasCaches caches keep the readiness of nodes current. Without them nothing tells, while pods are evicted, that a
   * node which was changed has failed: no node gets a slot that becomes free during the run.
   * @param clock monotonic: a wall clock that is set meanwhile settles nothing
   */
  constructor(state: ClusterState, now: () => Date, hasCaches = true, clock: NowClock = systemClock) {
    this.#state = state;
    this.#refused = new RefusedNodes(state);
    this.#now = now;
    this.#hasCaches = hasCaches;
    this.#sightings = new RolloutSightings(clock);
  }

  /** Computes the step again. Undefined for a pool without spec.rollout. */
  computeStep(pool: string): RolloutStep | undefined {
    const found = this.#state.pool(pool);
    if (found?.spec.rollout === undefined) {
      this.#admissions.delete(pool);
      this.#sightings.forget(pool);
      // A new pool of that name has another past; one that only has no rollout now keeps its stop.
      if (found === undefined) this.#stops.delete(pool);
      return undefined;
    }
    this.#endSeen(pool);
    const underWay = this.#underWay.get(pool) ?? NONE;
    const rollout = rolloutHash(found);
    const known = this.#stops.get(pool);
    const { uid } = found.metadata;
    const stop = known?.uid === uid && known?.rollout === rollout ? known.stop : undefined;
    const writes = { underWay, refused: this.#refused, sightings: this.#sightings, stop };
    const step = this.#ofRun(pool, stepOf(this.#state, found, this.#now(), writes));
    if (step.stop === undefined) this.#stops.delete(pool);
    else this.#stops.set(pool, { uid, rollout, stop: step.stop });
    // One that turned NotReady before its write, so that this is sent again, is no canary any more.
    const isCurrent = ([node, generation]: [string, number | undefined]) =>
      generation === found.metadata.generation && !(step.isCanary && this.#state.node(node)?.ready === false);
    const current = [...underWay].filter(isCurrent).map(([node]) => node);
    const allowed = new Set([...step.next, ...current]);
    this.#admissions.set(pool, {
      pool: found,
      readiness: this.#state.readiness(pool),
      allowed,
      settlesAfterMs: step.settlesAfterMs,
    });
    return step;
  }

  #ofRun(pool: string, step: RolloutStep): RolloutStep {
    if (this.#hasCaches) return step;
    const first = this.#first.get(pool) ?? new Set(step.next);
    this.#first.set(pool, first);
    return { ...step, next: step.next.filter(node => first.has(node)) };
  }

  /** Of the last step that was computed, in milliseconds from then. */
  settlesAfterMs(pool: string): number | undefined {
    return this.#admissions.get(pool)?.settlesAfterMs;
  }

  mayWrite(pool: string, node: string): boolean {
    const known = this.#admissions.get(pool);
    if (known?.pool !== this.#state.pool(pool) || known?.readiness !== this.#state.readiness(pool))
      this.computeStep(pool);
    const admission = this.#admissions.get(pool);
    // The pool has no rollout any more: a plan that is made now would say so.
    return admission === undefined || admission.allowed.has(node);
  }

  /** As mayWrite(), right before the write: what its record is to say of the change. Until end() the node counts as in flight. */
  takeSlot(pool: string, node: string): RolloutChange | undefined {
    if (!this.mayWrite(pool, node)) return undefined;
    this.#unsure.delete(node);
    const underWay = this.#underWay.get(pool) ?? new Map();
    const current = this.#state.pool(pool);
    const rollout = current && rolloutHash(current);
    this.#underWay.set(pool, underWay.set(node, current?.metadata.generation));
    const record = recordOf(this.#state, node, pool);
    // The change began with the drain: whether it broke the node is told by what the node was then.
    const hasBegun = record?.draining !== undefined && record.rollout === rollout;
    const isNotReady = this.#state.node(node)?.ready === false;
    return {
      changed: timestamp(this.#now()),
      ...(rollout === undefined ? {} : { rollout }),
      ...(isNotReady && (!hasBegun || record.wasNotReady) ? { wasNotReady: true } : {}),
    };
  }

  /** How the last write of the node has ended. */
  wrote(node: string, hasFailed: boolean): void {
    if (hasFailed) this.#refused.add(node);
    else this.#refused.delete(node);
  }

  /** The write had no answer, and the node could not be read. It was guarded by the version. Its next slot is the same one: it takes no second place. */
  keep(pool: string, node: string, resourceVersion: string): void {
    this.#underWay.get(pool)?.set(node, undefined);
    this.#unsure.set(node, resourceVersion);
  }

  #endSeen(pool: string): void {
    for (const node of [...(this.#underWay.get(pool)?.keys() ?? [])]) {
      const version = this.#unsure.get(node);
      if (version !== undefined && this.#state.node(node)?.resourceVersion !== version) this.end(pool, node);
    }
  }

  /** The write has ended, one way or the other. */
  end(pool: string, node: string): void {
    this.#unsure.delete(node);
    const [live, record] = [this.#state.node(node), recordOf(this.#state, node, pool)];
    if (live !== undefined) this.#sightings.see(pool, live, record, this.#now().getTime());
    const underWay = this.#underWay.get(pool);
    underWay?.delete(node);
    if (underWay?.size === 0) this.#underWay.delete(pool);
  }
}

// Nodes whose last write failed, as long as they exist: a node that was recreated under the name was not refused.

/** Names beyond twice those that were left are checked against the cluster state. */
const MIN_CHECK = 100;

export class RefusedNodes {
  readonly #state: ClusterState;
  /** UIDs by name. */
  readonly #uids = new Map<string, string>();
  #checkAt = MIN_CHECK;

  constructor(state: ClusterState) {
    this.#state = state;
  }

  add(name: string): void {
    const uid = this.#state.node(name)?.uid;
    if (uid === undefined) return;
    this.#uids.set(name, uid);
    if (this.#uids.size <= this.#checkAt) return;
    for (const known of this.#uids.keys()) if (!this.has(known)) this.#uids.delete(known);
    this.#checkAt = Math.max(MIN_CHECK, 2 * this.#uids.size);
  }

  delete(name: string): void {
    this.#uids.delete(name);
  }

  has(name: string): boolean {
    const uid = this.#uids.get(name);
    return uid !== undefined && this.#state.node(name)?.uid === uid;
  }

  /** How many are kept, those that are gone included. */
  get size(): number {
    return this.#uids.size;
  }
}

// The slot of a node in the rollout of its pool, while it is written: from the first take() that lets it through until end().
// Whoever begins one ends it, so that no node counts as under way for ever.

export class RolloutSlot {
  readonly #admission: RolloutAdmission;
  readonly #node: string;
  /** The pool that let the node through. */
  #pool: string | undefined;

  constructor(admission: RolloutAdmission, node: string) {
    this.#admission = admission;
    this.#node = node;
  }

  /** What the record of the node is to say of the change; undefined where it has to wait. */
  take(pool: string): RolloutChange | undefined {
    const change = this.#admission.takeSlot(pool, this.#node);
    if (change === undefined) return undefined;
    // Since the last attempt the node may have got into another pool.
    if (this.#pool !== pool) this.end();
    this.#pool = pool;
    return change;
  }

  /**
   * Of a write without an answer nobody knows whether it was done, or still will be: the node keeps its place until it is seen in
   * another version, by `read` or by anybody. @param resourceVersion that guards the write
   */
  async during<T>(write: Promise<T>, resourceVersion: string, read: () => Promise<Node | undefined>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (this.#pool === undefined) throw error;
      const isOpen = !(error instanceof NodepoolError) || error.isGeneral || error.isTransient;
      const node = await read().catch(ifRefused('unknown' as const));
      if (node === 'unknown' || (isOpen && node?.resourceVersion === resourceVersion)) this.#keep(resourceVersion);
      throw error;
    }
  }

  #keep(resourceVersion: string): void {
    if (this.#pool !== undefined) this.#admission.keep(this.#pool, this.#node, resourceVersion);
    this.#pool = undefined;
  }

  /** The node says what it is from now on, and a node may have failed during the write: what follows needs a slot of its own. */
  release(): void {
    const pool = this.#pool;
    this.end();
    if (pool !== undefined) this.#admission.computeStep(pool);
  }

  end(): void {
    if (this.#pool !== undefined) this.#admission.end(this.#pool, this.#node);
    this.#pool = undefined;
  }
}
