/** Writes the plan of each node that differs: one guarded patch for each node, planned again after every conflict. */
import { conflictDelay } from '../../controller/backoff.ts';
import { countRollout } from '../../controller/collect.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { dueOf, hasBegunDrain, isRolloutStep } from '../../nodepool/plan/plan.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { RolloutStep } from '../../nodepool/rollout/rollout-step.ts';
import { RolloutSlot } from '../limits/rollout-admission.ts';
import { contestedError } from '../limits/write-limits.ts';
import type { WriterOptions } from '../options.ts';
import {
  addOnce,
  addRetry,
  collectFailure,
  type DrainState,
  failureOf,
  moveOf,
  type NodeMove,
  retryWithin,
  specChangedFailure,
  WriteError,
  type WriteFailure,
  type WriteOutcome,
  withMove,
  withoutMove,
} from '../outcome.ts';
import { differs, isDue, mayWait, nodePlan } from '../plan/node-plan.ts';
import { readNode, stillExistsError } from '../state/live-reads.ts';
import { SpecChangedError } from '../state/pool-checks.ts';
import { readAnnotationsOf } from '../state/unread-annotations.ts';
import { assertNodeUnaltered } from './altered.ts';
import { type NextStep, NodeGates } from './node-gates.ts';

/** The part of an outcome that node writes contribute to. */
export interface NodeOutcome extends WriteOutcome {
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
}

/** After this many consecutive general failures, other nodes are not tried. A refusal concerns only its node. */
const MAX_GENERAL_FAILURES = 10;
/** Maximum number of plans in one call; a new plan follows a conflict, or a read. */
const MAX_ATTEMPTS = 50;

interface WrittenSoFar {
  move: NodeMove | undefined;
  slot: RolloutSlot;
}

export class NodeWriter {
  readonly #options: WriterOptions;
  readonly gates: NodeGates;
  /** One write at a time for each node: the reconciles of two pools may both want to write a moving node. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();

  constructor(options: WriterOptions) {
    this.#options = options;
    this.gates = new NodeGates(options);
  }

  /** False if the server did not answer and nodes were not tried. @param isCurrent if false, no write begins */
  async apply(pool: string, outcome: NodeOutcome, isCurrent = () => true): Promise<boolean> {
    const { limitObjects, progress, signal, cluster, state, changes } = this.#options;
    const reading = readAnnotationsOf(pool, state, cluster.nodes);
    if (reading !== undefined) await reading;
    const selected = this.#selected(pool);
    const names = this.#inOrder(pool, selected);
    // The last node may settle before the next step is computed: nothing else would trigger a reconcile.
    if (!this.#isPaused(pool)) retryWithin(this.gates.rollouts.settlesAfterMs(pool), outcome);
    // A node whose pods are not gone is only polled.
    const counted = new Set(names.filter(name => changes?.has(name) || dueOf(nodePlan(state, name))?.kind === 'write'));
    progress?.planned(counted.size);
    const [failures, untried]: [WriteFailure[], WriteFailure[]] = [[], []];
    let failedInARow = 0;
    let isAnswered = true;
    const edited: SpecChangedError[] = [];
    const apply = async (name: string) => {
      if (!isCurrent() || edited.some(error => error.pool === pool)) return;
      if (signal?.aborted) {
        outcome.unwritten++;
        return;
      }
      if (failedInARow >= MAX_GENERAL_FAILURES) untried.push({ message: `node ${name} was not tried`, node: name });
      else {
        const write = async () => {
          const move = await this.write(name, isCurrent).catch((error: unknown) => {
            if (!(error instanceof SpecChangedError)) throw error;
            edited.push(error);
            return undefined;
          });
          if (move !== undefined) outcome.moves.push(move);
        };
        const error = await collectFailure(failures, write, name);
        // The signal was aborted between two attempts, or while pods were evicted.
        if (signal?.aborted && error === undefined && this.needsWrite(name)) outcome.unwritten++;
        // A throttled write sends no request: its error is that of an earlier write.
        const isThrottled = error instanceof WriteError && error.isThrottled;
        if (!isThrottled) failedInARow = error?.isGeneral ? failedInARow + 1 : 0;
        if (error?.isGeneral || error?.isTransient) isAnswered = false;
        if (error instanceof WriteError) addRetry(error, outcome);
      }
      if (counted.has(name)) progress?.done();
    };
    await Promise.all(names.map(name => limitObjects(() => apply(name))));
    const failed = new Set(failures.map(({ node }) => node));
    for (const node of selected) {
      const error = failed.has(node) ? undefined : contestedError(node, this.#options);
      if (error === undefined) continue;
      failures.push(failureOf(error, node));
      addRetry(error, outcome);
    }
    for (const error of edited) addOnce(outcome.failures, specChangedFailure(error.pool, pool));
    // Sorted, not in the order of the responses, so that the same failures give the same status.
    outcome.failures.push(...failures.toSorted(byMessage), ...untried.toSorted(byMessage));
    return isAnswered;
  }

  #isPaused(name: string): boolean {
    const pool = this.#options.state.pool(name);
    return pool !== undefined && isPaused(pool);
  }

  /** Number of nodes of the pool that still need a write. */
  pending(pool: string): number {
    return this.#inOrder(pool, this.#selected(pool)).length;
  }

  /** Nodes to write now: first those with a slot in a rollout, in the order of the step. */
  #inOrder(pool: string, selected: readonly string[]): string[] {
    const names = selected.filter(name => this.needsWrite(name)).toSorted();
    const step = this.gates.rollouts.computeStep(pool);
    if (step === undefined) return names;
    const { state, changes } = this.#options;
    const waiting = new Map(
      names.flatMap(name => {
        const plan = changes?.has(name) ? undefined : nodePlan(state, name);
        return plan?.kind === 'rollout step' ? [[name, plan] as const] : [];
      }),
    );
    const next = step.next.filter(name => waiting.delete(name));
    const first = new Set(next);
    const others = names.filter(name => !first.has(name) && !waiting.has(name));
    const repairs = [...waiting].flatMap(([name, { meanwhile }]) => (meanwhile === undefined ? [] : name));
    return [...next, ...others, ...repairs];
  }

  /** The remaining rollout of the pool; undefined for a pool without one. */
  rollout(pool: string): RolloutStep | undefined {
    const step = this.gates.rollouts.computeStep(pool);
    if (step !== undefined && step.pending + step.settling > 0) countRollout(step.nodes);
    return step;
  }

  /** Nodes that a reconcile may write. A pool that is gone or being deleted releases all its nodes. */
  #selected(pool: string): string[] {
    const { state, changes = new Map(), only } = this.#options;
    const managed = state.managedNodes(pool).map(({ name }) => name);
    const changed = [...changes].filter(([, change]) => change.pool === pool).map(([node]) => node);
    if (!state.isActive(pool)) return [...new Set([...managed, ...changed])];
    if (changed.length > 0) return changed;
    return only === undefined ? managed : managed.filter(name => only.has(name));
  }

  /** Members whose pods are being evicted before they get a taint; undefined if there are none. */
  drain(pool: string): DrainState | undefined {
    const { state, cluster } = this.#options;
    if (cluster.isDryRun || state.pool(pool)?.spec.noExecute !== 'Drain') return undefined;
    const next = this.gates.rollouts.computeStep(pool)?.next;
    const nodes = state.members(pool).flatMap(({ name }) => {
      const plan = nodePlan(state, name);
      const isAdmitted = next === undefined || plan?.kind !== 'rollout step' || next.includes(name);
      return plan !== undefined && hasBegunDrain(plan) && isAdmitted ? name : [];
    });
    return nodes.length === 0 ? undefined : this.gates.drainer.entries.stateOf(nodes.toSorted());
  }

  /** Sentences about pods of these nodes that have been blocked for long, each returned once. */
  takeStuck(nodes: readonly string[]): string[] {
    return this.gates.drainer.entries.takeStuck(nodes);
  }

  /** In a run that selects nodes: nodes of the pool that still differ, not selected or failed. */
  notApplied(pool: string): string[] {
    const { state, changes, only } = this.#options;
    if (changes === undefined && only === undefined) return [];
    const managed = state.managedNodes(pool).map(({ name }) => name);
    // Without membership changes: a node that could not be added is no member.
    return managed.filter(name => isDue(nodePlan(state, name)));
  }

  /** Members that differ from the pool, or are contested. With caches, not those that enqueued the pool again. */
  differing(pool: string, failures: readonly WriteFailure[]): string[] {
    const { state, hasCaches = false } = this.#options;
    const failed = new Set(failures.map(({ node }) => node));
    const names = state.members(pool).map(({ name }) => name);
    return names.filter(name => {
      if (failed.has(name)) return true;
      const plan = nodePlan(state, name);
      return plan !== undefined && differs(plan) && (!hasCaches || mayWait(plan));
    });
  }

  isSelected(node: string): boolean {
    const { changes, only } = this.#options;
    return changes?.has(node) === true || only?.has(node) === true;
  }

  /** Whether the node differs from its plan. Cheap for a node that has not changed since the last call. */
  needsWrite(name: string): boolean {
    return this.gates.changes.has(name) || isDue(nodePlan(this.#options.state, name));
  }

  /** Undefined if nothing differed, the node is gone, or another call has written it. Throws NodepoolError. */
  async write(name: string, isCurrent = () => true): Promise<NodeMove | undefined> {
    const { aside = work => work() } = this.#options;
    const running = this.#inFlight.get(name);
    if (running !== undefined) {
      // That call may have released its slot to evict pods: it cannot end if the waiting calls have all slots.
      await aside(() => running).catch(error => {
        throw withoutMove(error);
      });
      // That call may have stopped early: its pool changed, or it wrote an earlier node with this name.
      return this.needsWrite(name) && isCurrent() ? this.write(name, isCurrent) : undefined;
    }
    const write = this.#write(name, isCurrent).finally(() => this.#inFlight.delete(name));
    this.#inFlight.set(name, write);
    return write;
  }

  /** Writes until the plan is empty. An error contains the writes before it. */
  async #write(name: string, isCurrent: () => boolean): Promise<NodeMove | undefined> {
    const written: WrittenSoFar = { move: undefined, slot: new RolloutSlot(this.gates.rollouts, name) };
    try {
      await this.#writeAll(name, written, isCurrent);
      this.gates.rollouts.wrote(name, false);
      return written.move;
    } catch (error) {
      this.gates.rollouts.wrote(name, isRolloutStep(nodePlan(this.#options.state, name)));
      if (!(error instanceof NodepoolError)) throw error;
      this.gates.drainer.entries.failed(name, error);
      if (written.move === undefined) throw error;
      throw withMove(error, written.move);
    } finally {
      written.slot.end();
    }
  }

  async #writeAll(name: string, written: WrittenSoFar, isCurrent: () => boolean): Promise<void> {
    let conflicts = 0;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const step = await this.gates.next(name, written.slot);
      if (step === 'done' || !isCurrent()) return;
      if (step !== 'again' && (await this.#send(step, attempt, written)) === 'conflict') conflicts++;
    }
    throw new NodepoolError(
      'cluster',
      conflicts === MAX_ATTEMPTS
        ? `somebody else changed node ${name} ${MAX_ATTEMPTS} times in a row between read and write`
        : `node ${name} was planned ${MAX_ATTEMPTS} times, but the node or its pools changed each time`,
      'nothing was overwritten; try again later',
    );
  }

  /** @param attempt from 1; determines the delay after a conflict */
  async #send(
    { plan, uid }: Exclude<NextStep, string>,
    attempt: number,
    written: WrittenSoFar,
  ): Promise<'written' | 'conflict'> {
    const { cluster, state, sleep, writeLimiter, onWrite } = this.#options;
    const { name } = plan.node;
    onWrite?.(plan);
    const sent = cluster.nodes.patch(name, plan.patch);
    const read = () => readNode(name, uid, this.#options);
    const write = await written.slot.during(sent, plan.patch.resourceVersion, read);
    if (write.kind === 'written') {
      state.setNode(write.node);
      if (plan.drain !== undefined) written.slot.release();
      // After a new or restored stand-in, wait until schedulers have seen it.
      if (plan.patch.taints !== undefined) this.gates.drainer.entries.forget(name);
      this.gates.changes.delete(name);
      this.gates.countRepairs(plan, uid);
      const move = moveOf(plan, written.move);
      writeLimiter.written(uid, plan.changes);
      assertNodeUnaltered(plan, write.node, { move, before: written.move }, this.#options);
      written.move = move;
      return 'written';
    }
    await sleep(conflictDelay(attempt));
    const current = await readNode(name, uid, this.#options);
    if (write.kind === 'gone' && current?.uid === uid) throw stillExistsError(`cannot patch Node "${name}"`);
    return 'conflict';
  }
}

function byMessage(a: WriteFailure, b: WriteFailure): number {
  return a.message < b.message ? -1 : 1;
}
