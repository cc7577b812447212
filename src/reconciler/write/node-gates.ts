/** Checks between the plan of a node and its PATCH, in order. Reads and evicts; writes no node. */
import { NodepoolError } from '../../nodepool/errors.ts';
import {
  type DuePlan,
  dueOf,
  type NodePatch,
  type NodePlan,
  pastRollout,
  type WritePlan,
} from '../../nodepool/plan/plan.ts';
import { withDrainingSince, withRolloutChange } from '../../nodepool/plan/record.ts';
import { timestamp } from '../../nodepool/timestamp.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { drainStep, NodeDrainer } from '../evict/node-drainer.ts';
import { RolloutAdmission, type RolloutSlot } from '../limits/rollout-admission.ts';
import { assertNodeFree } from '../limits/write-limits.ts';
import type { WriterOptions } from '../options.ts';
import { blockedError, blockedOf } from '../plan/blocked.ts';
import { type MembershipChange, planMembershipChange } from '../plan/membership-change.ts';
import { assertConsent, nodePlan } from '../plan/node-plan.ts';
import { readNode } from '../state/live-reads.ts';
import { ChangedMeanwhile, GonePools, StalePools } from '../state/pool-checks.ts';
import { isPrepared, prepare } from './pool-metadata.ts';

/** `done`: nothing left to write, a wait, or an aborted signal. `again`: the state has changed, plan again. */
export type NextStep = 'done' | 'again' | { plan: WritePlan; uid: string };

interface PlannedWrite<P extends DuePlan> {
  plan: P;
  /** In a rollout: the slot must last until the write. */
  isRolloutStep: boolean;
}

export class NodeGates {
  /** Reads the pool before a node is released because its pool is gone. */
  readonly gonePools: GonePools;
  readonly #options: WriterOptions;
  /** Rollouts of pools: the next nodes, and whether a node may be written. */
  readonly rollouts: RolloutAdmission;
  readonly drainer: NodeDrainer;
  readonly changes: Map<string, MembershipChange>;
  readonly changedMeanwhile: ChangedMeanwhile;
  readonly #stalePools: StalePools;

  constructor(options: WriterOptions) {
    this.gonePools = new GonePools(options);
    this.changedMeanwhile = new ChangedMeanwhile(options);
    this.#stalePools = new StalePools(options);
    this.rollouts = new RolloutAdmission(options.state, options.now, options.hasCaches ?? false, options.clock);
    this.drainer = new NodeDrainer(options);
    this.#options = options;
    this.changes = new Map(options.changes);
  }

  /** The next step of the node. Throws NodepoolError if it cannot be written. */
  async next(name: string, slot: RolloutSlot): Promise<NextStep> {
    const { state, consent, signal } = this.#options;
    if (signal?.aborted) return 'done';
    const planned = await this.#plannedOrRead(name);
    if (planned === 'done' || planned === 'again') return planned;
    const drained = await this.#drained(planned, slot);
    if (drained === 'done' || drained === 'again') return drained;
    const { plan } = drained;
    const [uid, ownership] = [state.node(name)?.uid, state.ownership(name)];
    if (uid === undefined) return 'done';
    await assertNodeFree(name, uid, plan.changes, this.#options);
    const pool = this.#repairedPool(plan);
    if (pool !== undefined) await this.#options.contestedKeys?.beforeRepair(pool, { name, uid }, plan.changes);
    const owner = this.#unpreparedOwner(plan);
    if (owner !== undefined) {
      await prepare(owner, this.#options);
      return 'again';
    }
    if (!(await this.gonePools.mayRelease(plan))) return 'again';
    if ((await this.changedMeanwhile.check(plan)) === 'paused') return 'again';
    // While a pool was read, the node or any pool may have changed or been paused.
    if (state.ownership(name) !== ownership) return 'again';
    assertConsent(plan, consent);
    const patch = this.#patchInSlot(drained, slot);
    if (signal?.aborted) return 'done';
    return patch === undefined ? 'again' : { plan: { ...plan, patch: this.#withDrainStart(plan, patch) }, uid };
  }

  /** The plan of the node, after missing data about the node was read. */
  async #plannedOrRead(name: string): Promise<PlannedWrite<DuePlan> | 'done' | 'again'> {
    const { state } = this.#options;
    const change = this.changes.get(name);
    const planned = this.#planned(name);
    const plan = planned && pastRollout(planned);
    const due = dueOf(plan);
    const uid = state.node(name)?.uid;
    // The pool was paused after the node was chosen.
    if (plan?.kind === 'paused') return 'done';
    if (due !== undefined && uid !== undefined && this.#stalePools.isBehind(name)) {
      await assertNodeFree(name, uid, due.changes, this.#options);
      await this.#stalePools.read(name);
      return 'again';
    }
    if (plan?.kind === 'unread' && uid !== undefined) {
      await readNode(name, uid, this.#options);
      return 'again';
    }
    const blocked = blockedOf(state, plan);
    if (blocked !== undefined && blocked.kind !== 'invalid') throw blockedError({ node: name, ...blocked });
    if (change !== undefined && uid === undefined && state.isActive(change.pool))
      throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
    if (change !== undefined && due?.kind !== 'write') {
      this.changes.delete(name);
      return 'again';
    }
    // The state of a drain is kept if the node only lost its slot.
    const isOver =
      due?.drain === undefined && this.drainer.entries.has(name) && dueOf(nodePlan(state, name))?.drain === undefined;
    if (isOver) this.drainer.entries.forget(name);
    return due === undefined ? 'done' : { plan: due, isRolloutStep: planned?.kind === 'rollout step' };
  }

  /** The plan itself; if pods must be evicted first, the plan with the taints once they are gone. */
  async #drained(
    { plan, isRolloutStep }: PlannedWrite<DuePlan>,
    slot: RolloutSlot,
  ): Promise<PlannedWrite<WritePlan> | 'done' | 'again'> {
    if (plan.kind === 'write') return { plan, isRolloutStep };
    assertConsent(plan, this.#options.consent);
    const conditions = {
      drainer: this.drainer,
      slot: isRolloutStep ? slot : undefined,
      changed: this.changedMeanwhile,
    };
    const drained = await drainStep(plan, conditions, this.#options);
    if (drained === 'waits') return 'done';
    if (drained === 'again') return 'again';
    const next = pastRollout(drained);
    switch (next.kind) {
      case 'write':
        return { plan: next, isRolloutStep: drained.kind === 'rollout step' };
      // The pool changed while pods were listed: plan again; the pool may be paused, or the node need a read.
      case 'paused':
      case 'unread':
        return 'again';
      default:
        return 'done';
    }
  }

  /** The plan that can be written now. If a member waits for its rollout slot, only the part that does not wait. */
  #planned(name: string): NodePlan | undefined {
    const { state } = this.#options;
    const change = this.changes.get(name);
    if (change !== undefined) return planMembershipChange(state, name, change);
    const plan = nodePlan(state, name);
    if (plan?.kind !== 'rollout step' || plan.previous === undefined) return plan;
    return this.rollouts.mayWrite(plan.previous, name) ? plan : plan.meanwhile;
  }

  /** The patch; in a rollout step, with the change in the record. Undefined if the slot was lost meanwhile. */
  #patchInSlot({ plan, isRolloutStep }: PlannedWrite<WritePlan>, slot: RolloutSlot): NodePatch | undefined {
    const { node, owner, previous, patch } = plan;
    if (!isRolloutStep || previous === undefined) return patch;
    const change = slot.take(previous);
    if (change === undefined) return undefined;
    // Its new labels may make the node leave the pool.
    const record = owner === previous ? withRolloutChange(patch.record ?? node.record, change) : undefined;
    return record === undefined ? patch : { ...patch, record };
  }

  /** Adds the time to the patch that begins a drain. */
  #withDrainStart({ drain }: WritePlan, patch: NodePatch): NodePatch {
    if (drain === undefined || drain.hasBegun || typeof patch.record !== 'string') return patch;
    const since = timestamp(this.#options.cluster.nodes.serverTime());
    return { ...patch, record: withDrainingSince(patch.record, since) };
  }

  /** Call this after the server has accepted the write. */
  countRepairs(plan: WritePlan, uid: string): void {
    const pool = this.#repairedPool(plan);
    if (pool !== undefined) this.#options.contestedKeys?.repaired(pool, { name: plan.node.name, uid }, plan.changes);
  }

  /** The pool whose member is repaired; repairs in a dry run do not count. */
  #repairedPool({ owner, previous }: NodePlan): NodePool | undefined {
    const { state, cluster } = this.#options;
    return cluster.isDryRun || owner === undefined || owner !== previous ? undefined : state.pool(owner);
  }

  /** The new owner, if it lacks the finalizer: that is set before the pool gets its first node. */
  #unpreparedOwner({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#options.state.pool(owner);
    return pool === undefined || isPrepared(pool, this.#options.state) ? undefined : pool;
  }
}
