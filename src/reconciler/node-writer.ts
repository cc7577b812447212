/** Applies the pools' labels and taints to single nodes: one guarded patch a node, planned again after every conflict. */
import type { Clock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePatch, NodePlan } from '../nodepool/plan.ts';
import { stampedRecord } from '../nodepool/record.ts';
import type { NodePool } from '../nodepool/types.ts';
import { ChangedMeanwhile } from './changed-meanwhile.ts';
import type { ClusterState } from './cluster-state.ts';
import { conflictDelay } from './conflict-delay.ts';
import { drainStep } from './drain-step.ts';
import { GonePools } from './gone-pools.ts';
import { readNode, stillExistsError } from './live-reads.ts';
import { type MembershipChange, type MembershipChanges, planMembershipChange } from './membership-change.ts';
import { assertConsent } from './no-execute-consent.ts';
import { NodeDrainer, type NodeDrainerDeps } from './node-drainer.ts';
import { moveOf, type NodeMove } from './node-move.ts';
import { planOf, repairOf, waitsForTurn } from './node-plan.ts';
import { circleError, oversizedError } from './node-plan-errors.ts';
import { type NodeWriteError, withMove, withoutMove } from './node-write-error.ts';
import { NodeWriteLimits } from './node-write-limits.ts';
import { factsOf } from './plan-facts.ts';
import type { ClusterPort } from './ports.ts';
import { RolloutGates } from './rollout-gates.ts';
import { RolloutTurn } from './rollout-turn.ts';
import { StalePools } from './stale-pools.ts';
import { isPrepared, prepare } from './takeover.ts';
import { WriteRateLimiter } from './write-rate-limiter.ts';

export interface NodeWriterDeps extends Omit<NodeDrainerDeps, 'cluster'> {
  cluster: ClusterPort;
  state: ClusterState;
  sleep: (ms: number) => Promise<void>;
  /** Every write is a dry run. */
  dryRun: boolean;
  clock: Pick<Clock, 'now'>;
  /** For the times of a rollout. */
  now: () => Date;
  /** Shared with other writers of the same run. Default: a new one. */
  writeLimiter?: WriteRateLimiter;
  /** Of a pool that is not being deleted and has some of these, no other node is written. */
  changes?: MembershipChanges;
  /** Taints with the effect NoExecute that may be set, as noExecuteOf() gives them; undefined: all. */
  consent?: ReadonlySet<string>;
  /** Caches keep the cluster state current, and their event handlers enqueue a pool that changes. */
  isFollowed?: boolean;
  /** Called before each write. */
  onWrite?: (plan: NodePlan) => void;
}

/** Conflicts in a row after which a node is an error. */
const MAX_ATTEMPTS = 50;

/** What a call has written so far. */
interface Written {
  move: NodeMove | undefined;
  turn: RolloutTurn;
}

/** `done`: nothing is left to write, or it has to wait. `again`: the cluster state has changed, so the node is planned again. */
type Step = 'done' | 'again' | { plan: NodePlan & { patch: NodePatch }; uid: string };

export class NodeWriter {
  /** Reads the pool before a node is released because its pool is gone. */
  readonly gonePools: GonePools;
  readonly #deps: NodeWriterDeps;
  /** Rollouts of pools: which nodes are next, and whether one of them may be written. */
  readonly rollouts: RolloutGates;
  readonly drainer: NodeDrainer;
  /** One write in flight a node: the reconciles of two pools that a node moves between do not write it at once. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();
  /** Membership changes that are not written yet. */
  readonly #changes: Map<string, MembershipChange>;
  readonly #limits: NodeWriteLimits;
  readonly #changedMeanwhile: ChangedMeanwhile;
  readonly #stalePools: StalePools;

  constructor(deps: NodeWriterDeps) {
    this.gonePools = new GonePools(deps);
    this.#changedMeanwhile = new ChangedMeanwhile(deps);
    this.#stalePools = new StalePools(deps);
    this.rollouts = new RolloutGates(deps.state, deps.now, deps.isFollowed ?? false);
    this.drainer = new NodeDrainer(deps);
    this.#deps = deps;
    const writeLimiter = deps.writeLimiter ?? new WriteRateLimiter(deps.clock);
    this.#limits = new NodeWriteLimits(deps.state, deps.cluster, writeLimiter);
    this.#changes = new Map(deps.changes);
  }

  /** Whether the node differs from its plan. Cheap for a node that has not changed since the last call. */
  needsWrite(name: string): boolean {
    return this.#changes.has(name) || factsOf(this.#deps.state, name).isDue;
  }

  /** The error of a node that needs no write now, and that something else kept changing until a short while ago. */
  contested(name: string): NodeWriteError | undefined {
    return this.#limits.contested(name);
  }

  /**
   * Writes what differs. Undefined when nothing did, the node is gone, or another call is writing it already. Throws
   * NodepoolError: a NodeWriteError where the node is not to be written again at once.
   */
  async write(name: string): Promise<NodeMove | undefined> {
    const running = this.#inFlight.get(name);
    if (running !== undefined) {
      await running.catch(error => {
        throw withoutMove(error);
      });
      return undefined;
    }
    const write = this.#write(name).finally(() => this.#inFlight.delete(name));
    this.#inFlight.set(name, write);
    return write;
  }

  /** Writes until the plan is empty. An error carries what was written before it. */
  async #write(name: string): Promise<NodeMove | undefined> {
    const written: Written = { move: undefined, turn: new RolloutTurn(this.rollouts, name) };
    try {
      await this.#writeAll(name, written);
      this.rollouts.wrote(name, false);
      return written.move;
    } catch (error) {
      this.rollouts.wrote(name, factsOf(this.#deps.state, name).isStep);
      if (!(error instanceof NodepoolError)) throw error;
      this.drainer.failed(name, error);
      if (written.move === undefined) throw error;
      throw withMove(error, written.move);
    } finally {
      written.turn.end();
    }
  }

  /** What is to be written now: of a member that waits for its turn in a rollout, what does not wait. */
  #planned(name: string): NodePlan | undefined {
    const { state } = this.#deps;
    const change = this.#changes.get(name);
    if (change !== undefined) return planMembershipChange(state, name, change);
    const plan = planOf(state, name);
    if (plan?.previous === undefined || plan.pausedBy !== undefined || !waitsForTurn(plan)) return plan;
    return this.rollouts.allows(plan.previous, name) ? plan : repairOf(state, name);
  }

  /** The patch, with its stamp if it is a step of a rollout; undefined where its turn has passed meanwhile. */
  #admitted({ node, owner, previous, isRollout = false }: NodePlan, patch: NodePatch, turn: RolloutTurn) {
    if (!isRollout || previous === undefined) return patch;
    const stamp = turn.admits(previous);
    if (stamp === undefined) return undefined;
    // By the labels that it gets, the node may leave the pool.
    const record = owner === previous ? stampedRecord(patch.record ?? node.record, stamp) : undefined;
    return record === undefined ? patch : { ...patch, record };
  }

  async #writeAll(name: string, written: Written): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const step = await this.#step(name, written.turn);
      if (step === 'done') return;
      if (step !== 'again') await this.#send(step, attempt, written);
    }
    throw new NodepoolError(
      'cluster',
      `node ${name} was changed by somebody else ${MAX_ATTEMPTS} times in a row between read and write`,
      'nothing of theirs was overwritten; try again when they are done',
    );
  }

  /** What is next for the node. Throws NodepoolError where it cannot be written. */
  async #step(name: string, turn: RolloutTurn): Promise<Step> {
    const { state, consent } = this.#deps;
    const planned = await this.#plannedOrRead(name);
    if (planned === 'done' || planned === 'again') return planned;
    const plan = await this.#drained(planned, turn);
    if (plan === 'done' || plan === 'again') return plan;
    const [uid, ownership] = [state.node(name)?.uid, state.ownership(name)];
    const { patch } = plan;
    if (patch === undefined || uid === undefined) return 'done';
    await this.#limits.assertFree(name, uid, plan.changes);
    const owner = this.#unpreparedOwner(plan);
    if (owner !== undefined) {
      await prepare(owner, this.#deps);
      return 'again';
    }
    if (!(await this.gonePools.mayRelease(plan))) return 'again';
    if (await this.#changedMeanwhile.isPaused(plan)) return 'again';
    // While a pool was read, the node or any pool may have changed, and been paused.
    if (state.ownership(name) !== ownership) return 'again';
    assertConsent(plan, consent);
    const admitted = this.#admitted(plan, patch, turn);
    return admitted === undefined ? 'again' : { plan: { ...plan, patch: admitted }, uid };
  }

  /** The plan of the node, once it is known what the node has. */
  async #plannedOrRead(name: string): Promise<NodePlan | 'done' | 'again'> {
    const { state } = this.#deps;
    const change = this.#changes.get(name);
    const plan = this.#planned(name);
    const uid = state.node(name)?.uid;
    // It was paused after the node was chosen.
    if (plan?.pausedBy !== undefined) return 'done';
    const isDue = plan !== undefined && (plan.patch !== undefined || plan.drain !== undefined);
    if (isDue && uid !== undefined && this.#stalePools.isBehind(name)) {
      await this.#limits.assertFree(name, uid, plan.changes);
      await this.#stalePools.read(name);
      return 'again';
    }
    if (plan?.isUnread && uid !== undefined) {
      await readNode(name, uid, this.#deps);
      return 'again';
    }
    if (plan?.circle !== undefined) throw circleError(name, plan.circle);
    if (plan?.isOversized) throw oversizedError(name, state.pool(plan.owner ?? ''));
    if (change !== undefined && uid === undefined && state.isStaying(change.pool))
      throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
    if (change !== undefined && plan?.patch === undefined) {
      this.#changes.delete(name);
      return 'again';
    }
    if (plan?.drain === undefined) this.drainer.forget(name);
    return plan ?? 'done';
  }

  /** The plan itself, unless pods are to be evicted first: then that with the taints, once they are gone. */
  async #drained(plan: NodePlan, turn: RolloutTurn): Promise<NodePlan | 'done' | 'again'> {
    const { drain, patch } = plan;
    if (drain === undefined || patch !== undefined) return plan;
    assertConsent(plan, this.#deps.consent);
    const gates = { drainer: this.drainer, turn, changed: this.#changedMeanwhile };
    const drained = await drainStep({ ...plan, drain }, gates, this.#deps);
    if (drained === 'waits') return 'done';
    if (drained === 'again') return 'again';
    // The pool was changed while pods were listed: it is planned again, and paused, or the node read, if need be.
    return drained.pausedBy !== undefined || drained.isUnread ? 'again' : drained;
  }

  /** @param attempt counted from 1: how long to wait after a conflict */
  async #send({ plan, uid }: Exclude<Step, string>, attempt: number, written: Written): Promise<void> {
    const { cluster, state, sleep, dryRun, onWrite } = this.#deps;
    const { name } = plan.node;
    onWrite?.(plan);
    const sent = cluster.nodes.patch(name, plan.patch, { dryRun });
    const read = () => readNode(name, uid, this.#deps);
    const write = await written.turn.during(sent, plan.patch.resourceVersion, read);
    if (write.kind === 'written') {
      state.setNode(write.node);
      if (plan.drain !== undefined) written.turn.giveBack();
      // A twin that is new, or was gone, has to be seen by schedulers first.
      if (plan.patch.taints !== undefined) this.drainer.forget(name);
      this.#changes.delete(name);
      const move = moveOf(plan, written.move);
      this.#limits.written(plan, write.node, uid, move, written.move);
      written.move = move;
      return;
    }
    await sleep(conflictDelay(attempt, Math.random()));
    const current = await readNode(name, uid, this.#deps);
    if (write.kind === 'gone' && current?.uid === uid) throw stillExistsError(`cannot patch Node "${name}"`);
  }

  /** The new owner, where it lacks the finalizer: it is set before the pool gets its first node. */
  #unpreparedOwner({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#deps.state.pool(owner);
    return pool === undefined || isPrepared(pool, this.#deps.state) ? undefined : pool;
  }
}
