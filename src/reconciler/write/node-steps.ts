/**
 * Decides what is next for one node: reads what the cluster state lacks of it and of its pools, evicts pods, and lets a patch
 * through once nothing stands against it. Writes no node.
 */
import { NodepoolError } from '../../nodepool/errors.ts';
import {
  type DuePlan,
  dueOf,
  inTurn,
  type NodePatch,
  type NodePlan,
  type WritePlan,
} from '../../nodepool/plan/plan.ts';
import { MAX_RECORD_LENGTH, MAX_RECORD_SLOTS, stampedRecord, withDrainingSince } from '../../nodepool/plan/record.ts';
import { timestamp } from '../../nodepool/timestamp.ts';
import type { Node, NodePool, ObjectMeta } from '../../nodepool/types.ts';
import { drainStep } from '../evict/drain-step.ts';
import { NodeDrainer } from '../evict/node-drainer.ts';
import { NodeWriteLimits } from '../limits/node-write-limits.ts';
import { RolloutGates, type RolloutTurn } from '../limits/rollout-gates.ts';
import { WriteRateLimiter } from '../limits/write-rate-limiter.ts';
import type { ReconcilerOptions } from '../options.ts';
import { type MembershipChange, planMembershipChange } from '../plan/membership-change.ts';
import { assertConsent } from '../plan/no-execute-consent.ts';
import { planOf } from '../plan/node-plan.ts';
import { ChangedMeanwhile } from '../state/changed-meanwhile.ts';
import { GonePools, type LiveReadDeps, readNode, readPool } from '../state/live-reads.ts';
import { isPrepared, prepare } from './takeover.ts';

/** `done`: nothing is left to write, it has to wait, or the signal is aborted. `again`: the cluster state has changed, so the node is planned again. */
export type NodeStep = 'done' | 'again' | { plan: WritePlan; uid: string };

interface Due<P extends DuePlan> {
  plan: P;
  /** Of a rollout: its turn has to last until the write. */
  isStep: boolean;
}

export class NodeSteps {
  /** Reads the pool before a node is released because its pool is gone. */
  readonly gonePools: GonePools;
  readonly #options: ReconcilerOptions;
  /** Rollouts of pools: which nodes are next, and whether one of them may be written. */
  readonly rollouts: RolloutGates;
  readonly drainer: NodeDrainer;
  /** Membership changes that are not written yet. */
  readonly changes: Map<string, MembershipChange>;
  readonly limits: NodeWriteLimits;
  readonly #changedMeanwhile: ChangedMeanwhile;
  readonly #stalePools: StalePools;

  constructor(options: ReconcilerOptions) {
    this.gonePools = new GonePools(options);
    this.#changedMeanwhile = new ChangedMeanwhile(options);
    this.#stalePools = new StalePools(options);
    this.rollouts = new RolloutGates(options.state, options.now, options.hasCaches ?? false, options.clock);
    this.drainer = new NodeDrainer(options);
    this.#options = options;
    const writeLimiter = options.writeLimiter ?? new WriteRateLimiter(options.clock);
    this.limits = new NodeWriteLimits(options.state, options.cluster, writeLimiter);
    this.changes = new Map(options.changes);
  }

  /** What is next for the node. Throws NodepoolError where it cannot be written. */
  async next(name: string, turn: RolloutTurn): Promise<NodeStep> {
    const { state, consent, signal } = this.#options;
    if (signal?.aborted) return 'done';
    const planned = await this.#plannedOrRead(name);
    if (planned === 'done' || planned === 'again') return planned;
    const due = await this.#drained(planned, turn);
    if (due === 'done' || due === 'again') return due;
    const { plan } = due;
    const [uid, ownership] = [state.node(name)?.uid, state.ownership(name)];
    if (uid === undefined) return 'done';
    await this.limits.assertFree(name, uid, plan.changes);
    const pool = this.#contestable(plan);
    if (pool !== undefined) await this.#options.contests?.beforeRepair(pool, { name, uid }, plan.changes);
    const owner = this.#unpreparedOwner(plan);
    if (owner !== undefined) {
      await prepare(owner, this.#options);
      return 'again';
    }
    if (!(await this.gonePools.mayRelease(plan))) return 'again';
    if (await this.#changedMeanwhile.isPaused(plan)) return 'again';
    // While a pool was read, the node or any pool may have changed, and been paused.
    if (state.ownership(name) !== ownership) return 'again';
    assertConsent(plan, consent);
    const admitted = this.#admitted(due, turn);
    if (signal?.aborted) return 'done';
    return admitted === undefined ? 'again' : { plan: { ...plan, patch: this.#dated(plan, admitted) }, uid };
  }

  /** The plan of the node, once it is known what the node has. */
  async #plannedOrRead(name: string): Promise<Due<DuePlan> | 'done' | 'again'> {
    const { state } = this.#options;
    const change = this.changes.get(name);
    const planned = this.#planned(name);
    const plan = planned && inTurn(planned);
    const due = dueOf(plan);
    const uid = state.node(name)?.uid;
    // It was paused after the node was chosen.
    if (plan?.kind === 'paused') return 'done';
    if (due !== undefined && uid !== undefined && this.#stalePools.isBehind(name)) {
      await this.limits.assertFree(name, uid, due.changes);
      await this.#stalePools.read(name);
      return 'again';
    }
    if (plan?.kind === 'unread' && uid !== undefined) {
      await readNode(name, uid, this.#options);
      return 'again';
    }
    if (plan?.kind === 'circle') throw circleError(name, plan.pools);
    if (plan?.kind === 'oversized') throw oversizedError(name, state.pool(plan.owner ?? ''));
    if (change !== undefined && uid === undefined && state.isActive(change.pool))
      throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
    if (change !== undefined && due?.kind !== 'write') {
      this.changes.delete(name);
      return 'again';
    }
    // What is known of its drain is kept while its turn has passed.
    const isOver =
      due?.drain === undefined && this.drainer.entries.has(name) && dueOf(planOf(state, name))?.drain === undefined;
    if (isOver) this.drainer.entries.forget(name);
    return due === undefined ? 'done' : { plan: due, isStep: planned?.kind === 'turn' };
  }

  /** The plan itself, unless pods are to be evicted first: then that with the taints, once they are gone. */
  async #drained({ plan, isStep }: Due<DuePlan>, turn: RolloutTurn): Promise<Due<WritePlan> | 'done' | 'again'> {
    if (plan.kind === 'write') return { plan, isStep };
    assertConsent(plan, this.#options.consent);
    const gates = { drainer: this.drainer, turn: isStep ? turn : undefined, changed: this.#changedMeanwhile };
    const drained = await drainStep(plan, gates, this.#options);
    if (drained === 'waits') return 'done';
    if (drained === 'again') return 'again';
    const next = inTurn(drained);
    switch (next.kind) {
      case 'write':
        return { plan: next, isStep: drained.kind === 'turn' };
      // The pool was changed while pods were listed: it is planned again, and paused, or the node read, if need be.
      case 'paused':
      case 'unread':
        return 'again';
      default:
        return 'done';
    }
  }

  /** What is to be written now: of a member that waits for its turn in a rollout, what does not wait. */
  #planned(name: string): NodePlan | undefined {
    const { state } = this.#options;
    const change = this.changes.get(name);
    if (change !== undefined) return planMembershipChange(state, name, change);
    const plan = planOf(state, name);
    if (plan?.kind !== 'turn' || plan.previous === undefined) return plan;
    return this.rollouts.allows(plan.previous, name) ? plan : plan.meanwhile;
  }

  /** The patch, with its stamp if it is a step of a rollout; undefined where its turn has passed meanwhile. */
  #admitted({ plan, isStep }: Due<WritePlan>, turn: RolloutTurn): NodePatch | undefined {
    const { node, owner, previous, patch } = plan;
    if (!isStep || previous === undefined) return patch;
    const stamp = turn.admits(previous);
    if (stamp === undefined) return undefined;
    // By the labels that it gets, the node may leave the pool.
    const record = owner === previous ? stampedRecord(patch.record ?? node.record, stamp) : undefined;
    return record === undefined ? patch : { ...patch, record };
  }

  /** The patch with which a drain begins has the time. */
  #dated({ drain }: WritePlan, patch: NodePatch): NodePatch {
    if (drain === undefined || drain.hasBegun || typeof patch.record !== 'string') return patch;
    const since = timestamp(this.#options.cluster.nodes.serverTime());
    return { ...patch, record: withDrainingSince(patch.record, since) };
  }

  /** The server accepted the write. */
  written(plan: WritePlan, uid: string): void {
    const pool = this.#contestable(plan);
    if (pool !== undefined) this.#options.contests?.repaired(pool, { name: plan.node.name, uid }, plan.changes);
  }

  /** The pool whose member is repaired; what a dry run repairs does not count. */
  #contestable({ owner, previous }: NodePlan): NodePool | undefined {
    const { state, cluster } = this.#options;
    return cluster.isDryRun || owner === undefined || owner !== previous ? undefined : state.pool(owner);
  }

  /** The new owner, where it lacks the finalizer: it is set before the pool gets its first node. */
  #unpreparedOwner({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#options.state.pool(owner);
    return pool === undefined || isPrepared(pool, this.#options.state) ? undefined : pool;
  }
}

// Notices, before a node is written, that the cluster state has an older spec of its pool than the one that the node has: the caches
// of pools and nodes lag behind each other, and another process writes nodes, too. The record of a node has the generation of
// the pool for which it was written, so the pool is read from the server.
//
// The answer is valid for the nodes as the cluster state had them at the read: one that is written for a newer spec since has
// another resourceVersion, and the patch fails with a conflict.
// Not guaranteed: that the generation is authentic, as the record is not. One that is higher than the server's, of a kubelet or of
// a pool that was restored or recreated without releasing its nodes, costs one read of the pool for all its nodes that are
// written, and their next write corrects it. A pool that was recreated counts from 1, so a spec of the earlier one is not noticed
// here. Nor is a newer spec that changed nothing on the node: its record has the generation of its last write. A node
// that joins by an older spec gets that until the cache has the newer one.

class StalePools {
  readonly #deps: LiveReadDeps;
  /** Nodes that had their record when the pool was read. */
  readonly #asked = new WeakSet<Node>();
  /** Reads under way, by name of the pool. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(deps: LiveReadDeps) {
    this.#deps = deps;
  }

  /** Whether the node was written for a newer spec of its pool, as far as is known: read() comes before its write. */
  isBehind(name: string): boolean {
    return this.#poolBehind(name) !== undefined;
  }

  /** The caller plans again. Throws NodepoolError when the pool cannot be read. @param name of a node */
  async read(name: string): Promise<void> {
    const pool = this.#poolBehind(name);
    if (pool === undefined) return;
    const reading = this.#reading.get(pool.name) ?? this.#ask(pool);
    this.#reading.set(pool.name, reading);
    await reading;
  }

  #poolBehind(name: string): ObjectMeta | undefined {
    const { state } = this.#deps;
    const [node, record] = [state.node(name), state.ownership(name)?.record];
    const pool = record && state.pool(record.pool)?.metadata;
    if (node === undefined || record?.generation === undefined || pool?.generation === undefined) return undefined;
    return record.generation > pool.generation && !this.#asked.has(node) ? pool : undefined;
  }

  async #ask({ name, uid }: ObjectMeta): Promise<void> {
    const held = this.#deps.state.held(name);
    try {
      await readPool(name, uid, this.#deps);
      for (const node of held) this.#asked.add(node);
    } finally {
      this.#reading.delete(name);
    }
  }
}

// Why a plan of a node cannot be written.

/** The labels of each of these pools make the node a member of another: it is not written. */
export function circleError(node: string, circle: readonly string[]): NodepoolError {
  return new NodepoolError(
    'cluster',
    `node ${node} was not written: the labels of each of the pools ${circle.join(', ')} make it a member of another, without end`,
    'change the labels or the nodeSelector of one of them',
    { isPermanent: true },
  );
}

/** @param pool the one whose record it is */
export function oversizedError(node: string, pool: NodePool | undefined): NodepoolError {
  const limits = `${MAX_RECORD_SLOTS} labels, ${MAX_RECORD_SLOTS} taints or ${MAX_RECORD_LENGTH} bytes`;
  const [what, next] =
    pool?.spec.annotations === undefined && pool?.spec.startupTaints === undefined
      ? [
          'its pool has unmanaged: Remove, and what that removes',
          'remove labels or taints from the node, or set unmanaged: Keep',
        ]
      : [
          'what its pool sets and removes there, with the values that were there before,',
          'set fewer or shorter annotations, or fewer startup taints; with unmanaged: Remove, remove labels or taints from the node, or set Keep',
        ];
  return new NodepoolError(
    'cluster',
    `node ${node} was not written: ${what} does not fit into the record (${limits})`,
    next,
    {
      isPermanent: true,
    },
  );
}
