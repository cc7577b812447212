/**
 * One reconcile of a pool by its name: reads the cluster state, plans, writes differences, sends Events about changes.
 * The outcome says what remains to be done: the caller's loop decides when the pool is reconciled again.
 *
 * Level-triggered and idempotent: if it is killed after any write, the next call ends in the same state without another
 * create or delete. Calls for different pools may run at the same time; calls for one pool must not. Not guaranteed:
 * that an Event survives a crash between a write and its Event.
 */
import type { Limiter } from '../controller/limiter.ts';
import type { Warning } from '../nodepool/errors.ts';
import { drainingText } from '../nodepool/plan/no-execute.ts';
import { isGradual } from '../nodepool/plan/runtime-class.ts';
import { stuckStartupTaints } from '../nodepool/plan/startup-taints.ts';
import { isPaused, pausedProgress, rolloutProgress, stoppedRollouts } from '../nodepool/rollout/rollout.ts';
import type { RolloutStep } from '../nodepool/rollout/rollout-step.ts';
import { assertWhole } from '../nodepool/spec/schema.ts';
import { conflictMessages, type PoolObservation } from '../nodepool/status/status.ts';
import type { NodePool } from '../nodepool/types.ts';
import { conditionEvents, OutcomeEvents, REASON, stuckEvents, warning } from './events.ts';
import { Interrupted, Interruption } from './interruption.ts';
import { ContestedKeys } from './limits/contested-keys.ts';
import { WriteRateLimiter } from './limits/rate-limiters.ts';
import type { ReconcilerOptions, RevisionKeeper, WriterOptions } from './options.ts';
import {
  addFailure,
  attemptWrite,
  type DrainState,
  emptyOutcome,
  messagesOf,
  type PoolOutcome,
  retryWithin,
  WriteError,
  type WriteFailure,
  withheldTaints,
} from './outcome.ts';
import { PoolRelease } from './pool-release.ts';
import type { ClusterState } from './state/cluster-state.ts';
import { isSamePool, readPool, recreatedError } from './state/live-reads.ts';
import { NodeWriter } from './write/node-writer.ts';
import { endTakeover, finishTakeover, prepare } from './write/pool-metadata.ts';
import { RevisionWriter } from './write/revision-writer.ts';
import { deletesRuntimeClass, writeRuntimeClass } from './write/runtime-class-writer.ts';
import { writeStatus } from './write/status-writer.ts';

export class Reconciler {
  /** Its limiter starts no work after the signal is aborted. */
  readonly #options: WriterOptions;
  readonly #contestedKeys: ContestedKeys;
  readonly #events: OutcomeEvents;
  readonly #nodes: NodeWriter;
  readonly #revisions: RevisionKeeper;
  readonly #interruption: Interruption;
  readonly #release: PoolRelease;

  constructor(options: ReconcilerOptions) {
    const { limitObjects, signal } = options;
    const begin: Limiter = work =>
      limitObjects(async () => {
        if (signal?.aborted) throw new Interrupted();
        return work();
      });
    const writeLimiter = options.writeLimiter ?? new WriteRateLimiter(options.clock);
    this.#options = { ...options, limitObjects: begin, writeLimiter };
    this.#events = new OutcomeEvents(options);
    this.#contestedKeys = options.contestedKeys ?? new ContestedKeys(options);
    this.#nodes = new NodeWriter({ ...options, writeLimiter, contestedKeys: this.#contestedKeys });
    this.#revisions = options.revisions ?? new RevisionWriter(this.#options);
    this.#interruption = new Interruption(this.#events, options.state);
    this.#release = new PoolRelease(this.#options, this.#nodes, this.#events, this.#interruption);
  }

  /** For another reconciler of the same run. */
  get revisions(): RevisionKeeper {
    return this.#revisions;
  }

  /** Throws NodepoolError if the pool cannot be read, or its finalizer or takeover annotation cannot be set. */
  async reconcile(name: string): Promise<PoolOutcome> {
    const pending = () => ({ ...emptyOutcome(name), unwritten: this.#nodes.pending(name) });
    return this.#interruption
      .until(pending, () => this.#releaseOrApply(name))
      .finally(() => {
        this.#nodes.gates.gonePools.forget(name);
        if (this.#options.state.pool(name) !== undefined) return;
        this.#revisions.forget(name);
        this.#contestedKeys.forget(name);
      });
  }

  async #releaseOrApply(name: string): Promise<PoolOutcome> {
    const { state, limitObjects } = this.#options;
    const known = state.pool(name);
    // A new CRD changes the returned fields without a watch event for the pool.
    const pool = known?.dropped === undefined ? known : await readPool(name, known.metadata.uid, this.#options);
    if (pool !== undefined) assertWhole(pool);
    const uid = this.#options.deleted?.get(name);
    if (pool !== undefined && uid !== undefined && pool.metadata.uid !== uid) throw recreatedError(name, 'deleted');
    if (pool === undefined) return (await this.#release.ofGone(name)) ?? changedOutcome(name);
    if (pool.metadata.deletionTimestamp !== undefined)
      return (await this.#release.ofDeleted(pool)) ?? changedOutcome(name);
    // Before any write for the pool, and again after the write of its metadata, which may have read the pool.
    const { changedMeanwhile } = this.#nodes.gates;
    changedMeanwhile.assertUnedited(name);
    if (state.poolIndex.errors(name).length > 0) return this.#applySpec(pool, false);
    const prepared = await limitObjects(() => prepare(pool, this.#options)).catch((error: unknown) => {
      if (error instanceof WriteError) return error;
      throw error;
    });
    changedMeanwhile.assertUnedited(name);
    if (prepared instanceof WriteError) return this.#applySpec(state.pool(name) ?? pool, false, prepared);
    if (prepared === undefined || prepared.metadata.deletionTimestamp !== undefined) return changedOutcome(name);
    if (!deletesRuntimeClass(prepared, state)) return this.#applySpec(prepared, true);
    // A pool that has a handler again keeps its RuntimeClass.
    const latest = await limitObjects(() => readPool(name, prepared.metadata.uid, this.#options));
    if (latest === undefined || !isSamePool(prepared, state.pool(name))) return changedOutcome(name);
    assertWhole(latest);
    return this.#applySpec(latest, true);
  }

  /** @param mayApply false: only releases nodes that left @param unprepared why the pool could not be prepared */
  async #applySpec(pool: NodePool, mayApply: boolean, unprepared?: WriteError): Promise<PoolOutcome> {
    const name = pool.metadata.name;
    const outcome = emptyOutcome(name);
    if (unprepared !== undefined) addFailure(outcome, unprepared);
    const begun = () => ({ ...outcome, unwritten: Math.max(outcome.unwritten, this.#nodes.pending(name)) });
    return this.#interruption.until(begun, () => this.#writeInOrder(outcome, pool, mayApply));
  }

  async #writeInOrder(outcome: PoolOutcome, pool: NodePool, mayApply: boolean): Promise<PoolOutcome> {
    const { state, limitObjects, podsOn, hasCaches = false } = this.#options;
    const { name } = pool.metadata;
    // First, so that all later writes can be undone.
    if (mayApply) await this.#revisions.keep(pool, outcome.warnings);
    // Before the nodes: new pods need tolerations when the taints arrive. Nodes do not wait if it fails (0006).
    const isClassRight = mayApply && (await writeRuntimeClass(pool, outcome, this.#options));
    // If nodes are added or removed by name, the status reports only failures before their writes.
    const unmet = this.#options.changes === undefined ? outcome.failures : [...outcome.failures];
    let isEdited = false;
    // After an edit that was reverted, some nodes were not written.
    const isCurrent = () => {
      isEdited ||= hasCaches && !isSamePool(pool, state.pool(name));
      return !isEdited;
    };
    const isAnswered = await this.#nodes.apply(name, outcome, isCurrent);
    if (outcome.unwritten > 0) throw new Interrupted();
    if (!isCurrent()) {
      await this.#events.send(this.#events.ofWrites(outcome, pool), outcome);
      return { ...outcome, isChanged: true };
    }
    // Once the last member has the spec, tolerations for the earlier spec are not needed.
    if (isClassRight && isGradual(pool)) await writeRuntimeClass(pool, outcome, this.#options);
    const drain = this.#nodes.drain(name);
    if (drain !== undefined) outcome.drain = drain;
    retryWithin(drain?.afterMs, outcome);
    const differing = this.#nodes.notApplied(name);
    const others = differing.filter(node => !this.#nodes.isSelected(node));
    const isUnknown = isStatusUnknown(pool, differing.length, others.length);
    if (others.length > 0) outcome.warnings.push(notAppliedWarning(name, others.length, isUnknown));
    if (isUnknown) {
      await this.#events.send(this.#events.ofWrites(outcome, pool), outcome);
      return outcome;
    }
    const step = mayApply ? this.#nodes.rollout(name) : undefined;
    // Nodes that wait for a slot, or for pods, already have a record.
    const isTried = mayApply && isAnswered && !isPaused(pool);
    const current = isTried ? await this.#endTakeover(pool, outcome) : pool;
    const contested = await this.#contestedKeys.textOf(pool, node => state.ownership(node)?.owner === name);
    const contestMs = contested === undefined ? undefined : this.#contestedKeys.endsAfterMs(pool);
    retryWithin(contestMs, outcome);
    const stuck = stuckStartupTaints(pool, state.members(name), () => this.#options.cluster.nodes.serverTime());
    retryWithin(stuck.afterMs, outcome);
    const observed = observe(pool, state, outcome, {
      stuckStartup: stuck.texts,
      unmet,
      differing: this.#nodes.differing(name, outcome.failures),
      step,
      drain,
      contested,
      podsOn,
    });
    if (!isPaused(pool) && step?.settlesAfterMs !== undefined) {
      outcome.settlesAfterMs = step.settlesAfterMs;
      retryWithin(step.settlesAfterMs, outcome);
    }
    const written = await writeStatus(current, observed, outcome, this.#options);
    const notFinished =
      written === 'written'
        ? await attemptWrite(outcome, () => limitObjects(() => finishTakeover(name, outcome.status, this.#options)))
        : undefined;
    const isNewFailure = notFinished instanceof WriteError && !notFinished.isThrottled;
    await this.#events.send(
      [
        ...this.#events.ofWrites(outcome, pool),
        ...(outcome.status ? conditionEvents(pool, outcome.status).map(event => [pool, event] as const) : []),
        ...(isNewFailure ? [[pool, warning(REASON.reconcileFailed, notFinished.oneLine)] as const] : []),
        ...stuckEvents(this.#nodes.takeStuck(drain?.nodes ?? [])).map(event => [pool, event] as const),
      ],
      outcome,
    );
    if (outcome.status !== undefined || written === 'throttled') return outcome;
    // The pool was deleted during its node writes: nodes written after its release are released again.
    return { ...outcome, isChanged: true };
  }

  async #endTakeover(pool: NodePool, outcome: PoolOutcome): Promise<NodePool> {
    let ended = pool;
    await attemptWrite(outcome, async () => {
      ended = await this.#options.limitObjects(() => endTakeover(pool, this.#options));
    });
    return ended;
  }
}

/** The pool was replaced or changed: neither its RuntimeClass nor its nodes were written. */
function changedOutcome(pool: string): PoolOutcome {
  return { ...emptyOutcome(pool), isChanged: true };
}

// The observations of a reconcile for the status of the pool.

interface PoolFindings {
  /** Failures that the status reports. */
  unmet: readonly WriteFailure[];
  /** Members that differ from the pool. */
  differing: string[];
  /** For a pool with a rollout. */
  step: RolloutStep | undefined;
  drain: DrainState | undefined;
  /** What others repeatedly change back, as a sentence. */
  contested: string | undefined;
  /** Number of pods on a node that have not terminated, if they are counted. */
  podsOn: ((node: string) => number) | undefined;
  stuckStartup: readonly string[];
}

function observe(
  pool: NodePool,
  state: ClusterState,
  { runtimeClass, moves }: PoolOutcome,
  { unmet, differing, step, drain, contested, podsOn, stuckStartup }: PoolFindings,
): PoolObservation {
  const { name } = pool.metadata;
  const members = state.members(name);
  return {
    members,
    specErrors: state.poolIndex.errors(name),
    conflicts: conflictMessages(
      pool,
      state.lost(name),
      runtimeClass.kind === 'foreign' ? runtimeClass.name : undefined,
    ),
    differing,
    failures: [...new Set(messagesOf(unmet))],
    podCount: podsOn && members.reduce((sum, node) => sum + podsOn(node.name), 0),
    rollout: isPaused(pool)
      ? pausedProgress(name, differing.length, members.length)
      : step && rolloutProgress(name, step),
    // A node that fails during a pause may be gone when the pause ends.
    stoppedRollouts: stoppedRollouts(pool, step),
    draining: drain && drainingText(drain),
    stuckStartup,
    withheld: withheldTaints(moves.filter(({ from, to }) => from === name && to === name)),
    contested,
  };
}

// A run that selects nodes of a pool: what is unknown about the others.

/** Whether the status is unknown after the run. @param differing nodes that still differ @param others not selected */
function isStatusUnknown({ metadata, status }: NodePool, differing: number, others: number): boolean {
  // The status cannot say that most nodes still differ, if the spec was not applied before.
  if (differing > 0 && status?.observedGeneration !== metadata.generation) return true;
  // Only the previous status has the reasons why writes of other nodes failed.
  return others > 0 && status?.conditions?.some(({ reason }) => reason === 'WriteFailed') === true;
}

/** @param nodes number of nodes outside of this run that differ from the pool's labels and taints */
function notAppliedWarning(pool: string, nodes: number, isUnknown: boolean): Warning {
  const subject = nodes === 1 ? '1 other node differs' : `${nodes} other nodes differ`;
  const status = isUnknown ? ', and the status was not written' : '';
  return {
    message: `${subject} from the labels and taints of the pool${status}`,
    next: `run \`kubectl nodepool reconcile ${pool}\``,
  };
}
