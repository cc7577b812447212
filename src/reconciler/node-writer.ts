/** Applies the pools' labels and taints to single nodes: one guarded patch a node, planned again after every conflict. */
import type { Clock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePatch, NodePlan } from '../nodepool/plan.ts';
import { type RolloutStamp, stampedRecord } from '../nodepool/record.ts';
import type { NodePool } from '../nodepool/types.ts';
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
import { PausedMeanwhile } from './paused-meanwhile.ts';
import { factsOf } from './plan-facts.ts';
import type { ClusterPort } from './ports.ts';
import { RolloutGates } from './rollout-gates.ts';
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
  /** The pool whose rollout let the node through. */
  admittedBy: string | undefined;
}

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
  readonly #pausedMeanwhile: PausedMeanwhile;
  readonly #stalePools: StalePools;

  constructor(deps: NodeWriterDeps) {
    this.gonePools = new GonePools(deps);
    this.#pausedMeanwhile = new PausedMeanwhile(deps);
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
    const written: Written = { move: undefined, admittedBy: undefined };
    try {
      await this.#writeAll(name, written);
      this.rollouts.wrote(name, false);
      return written.move;
    } catch (error) {
      this.rollouts.wrote(name, factsOf(this.#deps.state, name).isStep);
      if (!(error instanceof NodepoolError) || written.move === undefined) throw error;
      throw withMove(error, written.move);
    } finally {
      if (written.admittedBy !== undefined) this.rollouts.end(written.admittedBy, name);
    }
  }

  /** The node says what it is from now on, and a node may have failed during the write: what follows needs a turn of its own. */
  #giveTurnBack(name: string, written: Written): void {
    const pool = written.admittedBy;
    if (pool === undefined) return;
    this.rollouts.end(pool, name);
    this.rollouts.begin(pool);
    written.admittedBy = undefined;
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
  #admitted(plan: NodePlan, patch: NodePatch, written: Written): NodePatch | undefined {
    const { node, owner, previous, isRollout = false } = plan;
    if (!isRollout || previous === undefined) return patch;
    const stamp = this.#admits(previous, node.name, written);
    if (stamp === undefined) return undefined;
    // By the labels that it gets, the node may leave the pool.
    const record = owner === previous ? stampedRecord(patch.record ?? node.record, stamp) : undefined;
    return record === undefined ? patch : { ...patch, record };
  }

  #admits(pool: string, node: string, written: Written): RolloutStamp | undefined {
    const stamp = this.rollouts.admits(pool, node);
    if (stamp === undefined) return undefined;
    // Since the last attempt the node may have got into another pool.
    if (written.admittedBy !== undefined && written.admittedBy !== pool) this.rollouts.end(written.admittedBy, node);
    written.admittedBy = pool;
    return stamp;
  }

  async #writeAll(name: string, written: Written): Promise<void> {
    const { cluster, state, sleep, dryRun } = this.#deps;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const change = this.#changes.get(name);
      let plan = this.#planned(name);
      const uid = state.node(name)?.uid;
      // It was paused after the node was chosen.
      if (plan?.pausedBy !== undefined) return;
      if (this.#stalePools.isBehind(name)) {
        await this.#stalePools.read(name);
        continue;
      }
      if (plan?.isUnread && uid !== undefined) {
        await readNode(name, uid, this.#deps);
        continue;
      }
      if (plan?.circle !== undefined) throw circleError(name, plan.circle);
      if (plan?.isOversized) throw oversizedError(name, state.pool(plan.owner ?? ''));
      if (change !== undefined && uid === undefined && state.isStaying(change.pool))
        throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
      if (change !== undefined && plan?.patch === undefined) {
        this.#changes.delete(name);
        continue;
      }
      if (plan?.drain === undefined) this.drainer.forget(name);
      else if (plan.patch === undefined) {
        if (await this.#pausedMeanwhile.read(plan)) continue;
        assertConsent(plan, this.#deps.consent);
        const admits = (pool: string) => this.#admits(pool, name, written) !== undefined;
        const drained = await drainStep({ ...plan, drain: plan.drain }, this.drainer, admits, this.#deps);
        if (drained === 'waits') return;
        if (drained === 'again') continue;
        plan = drained;
        // The pool was changed while pods were listed: it is planned again, and paused, or the node read, if need be.
        if (plan.pausedBy !== undefined || plan.isUnread) continue;
      }
      if (plan?.patch === undefined || uid === undefined) return;
      await this.#limits.assertFree(name, uid, plan.changes);
      const owner = this.#unpreparedOwner(plan);
      if (owner !== undefined) {
        await prepare(owner, this.#deps);
        continue;
      }
      if (!(await this.gonePools.mayRelease(plan))) continue;
      if (await this.#pausedMeanwhile.read(plan)) continue;
      assertConsent(plan, this.#deps.consent);
      const patch = this.#admitted(plan, plan.patch, written);
      if (patch === undefined) continue;
      this.#deps.onWrite?.(plan);
      const write = await cluster.nodes.patch(name, patch, { dryRun });
      if (write.kind === 'written') {
        state.setNode(write.node);
        if (plan.drain !== undefined) this.#giveTurnBack(name, written);
        // A twin that is new, or was gone, has to be seen by schedulers first.
        if (patch.taints !== undefined) this.drainer.forget(name);
        this.#changes.delete(name);
        const move = moveOf(plan, written.move);
        this.#limits.written({ ...plan, patch }, write.node, uid, move, written.move);
        written.move = move;
        continue;
      }
      await sleep(conflictDelay(attempt, Math.random()));
      const current = await readNode(name, uid, this.#deps);
      if (write.kind === 'gone' && current?.uid === uid) throw stillExistsError(`cannot patch Node "${name}"`);
    }
    throw new NodepoolError(
      'cluster',
      `node ${name} was changed by somebody else ${MAX_ATTEMPTS} times in a row between read and write`,
      'nothing of theirs was overwritten; try again when they are done',
    );
  }

  /** The new owner, where it lacks the finalizer: it is set before the pool gets its first node. */
  #unpreparedOwner({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#deps.state.pool(owner);
    return pool === undefined || isPrepared(pool, this.#deps.state) ? undefined : pool;
  }
}
