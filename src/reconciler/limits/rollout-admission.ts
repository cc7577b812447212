/**
 * Admits the writes of a rollout, one step at a time. The step is computed when a reconcile begins, and again at a
 * write if the pool or the readiness of a node has changed since. Writes in progress count as in flight, because the
 * state does not have them yet.
 *
 * Not guaranteed: the limit across several processes that write at the same time without a lease. Both choose the same
 * nodes in the same order, so the second of two overlapping processes finds them already written.
 */
import { type NowClock, systemClock } from '../../controller/clock.ts';
import { ifRefused, NodepoolError } from '../../nodepool/errors.ts';
import type { RolloutChange } from '../../nodepool/plan/record.ts';
import { rolloutHash } from '../../nodepool/rollout/rollout.ts';
import type { RolloutStep, RolloutStop } from '../../nodepool/rollout/rollout-step.ts';
import { timestamp } from '../../nodepool/timestamp.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import { recordOf, rolloutStepOf } from '../plan/rollout-plan.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { RolloutSightings } from '../state/rollout-sightings.ts';

interface PoolAdmission {
  pool: NodePool;
  /** ClusterState.readiness() at the computation of the step. */
  readiness: number;
  /** Names that may be written: those of the step, and those in progress. */
  allowed: ReadonlySet<string>;
  settlesAfterMs: number | undefined;
}

const NONE: ReadonlyMap<string, number | undefined> = new Map();

export class RolloutAdmission {
  readonly #state: ClusterState;
  readonly #now: () => Date;
  /** By pool name. */
  readonly #admissions = new Map<string, PoolAdmission>();
  /** Admitted nodes whose write has not ended, by pool name, each with the generation that it is for. */
  readonly #underWay = new Map<string, Map<string, number | undefined>>();

  /** Stops by pool name: the failed node may be gone before the status has the stop. */
  readonly #stops = new Map<string, { uid: string | undefined; rollout: string; stop: RolloutStop }>();
  readonly #sightings: RolloutSightings;

  /** Nodes whose last write failed: they are chosen last. */
  readonly #refused: RefusedNodes;

  /** Nodes whose write got no response: in progress until they have another resourceVersion than this. */
  readonly #unsure = new Map<string, string>();

  readonly #hasCaches: boolean;
  /** For a run without caches: the nodes of the first step, by pool name. */
  readonly #first = new Map<string, ReadonlySet<string>>();

  /**
   * @param hasCaches caches keep the readiness of nodes current. Without them, a changed node may fail unnoticed while
   * pods are evicted: no node gets a slot that becomes free during the run.
   * @param clock monotonic: a change of the wall clock must not settle nodes
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
      // A new pool of that name has another history. A pool that only lost its rollout keeps its stop.
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
    const step = this.#ofRun(pool, rolloutStepOf(this.#state, found, this.#now(), writes));
    if (step.stop === undefined) this.#stops.delete(pool);
    else this.#stops.set(pool, { uid, rollout, stop: step.stop });
    // A node that turned NotReady before its write, which is then sent again, is no longer a canary.
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

  /** settlesAfterMs of the last computed step, in milliseconds from its computation. */
  settlesAfterMs(pool: string): number | undefined {
    return this.#admissions.get(pool)?.settlesAfterMs;
  }

  mayWrite(pool: string, node: string): boolean {
    const known = this.#admissions.get(pool);
    if (known?.pool !== this.#state.pool(pool) || known?.readiness !== this.#state.readiness(pool))
      this.computeStep(pool);
    const admission = this.#admissions.get(pool);
    // The pool no longer has a rollout: a new plan would not need a slot.
    return admission === undefined || admission.allowed.has(node);
  }

  /** mayWrite() right before a write. Returns the change for the record. Until end(), the node is in flight. */
  takeSlot(pool: string, node: string): RolloutChange | undefined {
    if (!this.mayWrite(pool, node)) return undefined;
    this.#unsure.delete(node);
    const underWay = this.#underWay.get(pool) ?? new Map();
    const current = this.#state.pool(pool);
    const rollout = current && rolloutHash(current);
    this.#underWay.set(pool, underWay.set(node, current?.metadata.generation));
    const record = recordOf(this.#state, node, pool);
    // The change began with the drain: the readiness at that time decides whether the change broke the node.
    const hasBegun = record?.draining !== undefined && record.rollout === rollout;
    const isNotReady = this.#state.node(node)?.ready === false;
    return {
      changed: timestamp(this.#now()),
      ...(rollout === undefined ? {} : { rollout }),
      ...(isNotReady && (!hasBegun || record.wasNotReady) ? { wasNotReady: true } : {}),
    };
  }

  /** Reports the result of the node's last write. */
  wrote(node: string, hasFailed: boolean): void {
    if (hasFailed) this.#refused.add(node);
    else this.#refused.delete(node);
  }

  /** For a write without a response, guarded by `resourceVersion`, if the node is unreadable: it keeps its slot. */
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

  /** The write has ended, successful or not. */
  end(pool: string, node: string): void {
    this.#unsure.delete(node);
    const [live, record] = [this.#state.node(node), recordOf(this.#state, node, pool)];
    if (live !== undefined) this.#sightings.see(pool, live, record, this.#now().getTime());
    const underWay = this.#underWay.get(pool);
    underWay?.delete(node);
    if (underWay?.size === 0) this.#underWay.delete(pool);
  }
}

// Existing nodes whose last write failed; a node that was recreated with the same name does not count.

/** If the number of names doubles, those of missing nodes are removed. */
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

  /** Number of stored names, including those of missing nodes. */
  get size(): number {
    return this.#uids.size;
  }
}

// The slot of a node in the rollout of its pool during a write: from the first successful take() until end(). Whoever
// creates it must end it; otherwise the node stays in progress forever.

export class RolloutSlot {
  readonly #admission: RolloutAdmission;
  readonly #node: string;
  /** The pool that admitted the node. */
  #pool: string | undefined;

  constructor(admission: RolloutAdmission, node: string) {
    this.#admission = admission;
    this.#node = node;
  }

  /** The change for the node's record; undefined if the node has to wait. */
  take(pool: string): RolloutChange | undefined {
    const change = this.#admission.takeSlot(pool, this.#node);
    if (change === undefined) return undefined;
    // Since the last attempt, the node may have joined another pool.
    if (this.#pool !== pool) this.end();
    this.#pool = pool;
    return change;
  }

  /**
   * Without a response, the write may have happened or still happen: the node keeps its slot until it has another
   * resourceVersion, seen by `read` or otherwise. @param resourceVersion that guards the write
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

  /** Ends the slot. Later writes need a new one, as a node may have failed during this write. */
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
