/**
 * Reconciles one pool by its name: looks at what is there, plans, writes what differs, tells what changed.
 *
 * Level-triggered and idempotent: killed after any write, the next call ends in the same state without another create
 * or delete. Calls for different pools may run at the same time; calls for one pool must not.
 * Not guaranteed: that an Event survives a crash between a write and its Event.
 */

import type { Limiter } from '../controller/limiter.ts';
import { assertWhole } from '../nodepool/dropped-fields.ts';
import { planRuntimeClass, runtimeClassName } from '../nodepool/runtime-class.ts';
import type { Observation } from '../nodepool/status.ts';
import type { NodePool } from '../nodepool/types.ts';
import { conflictMessages } from './conflicts.ts';
import { conditionEvents, REASON, warning } from './events.ts';
import { addFailure, attempt, attemptHeld, messagesOf } from './failure.ts';
import { dropFinalizer } from './finalizer.ts';
import { readPool, remade } from './live-reads.ts';
import { NodeWriteError } from './node-write-error.ts';
import { OutcomeEvents, type OutcomeEventsOptions } from './outcome-events.ts';
import { PoolNodes, type PoolNodesOptions } from './pool-nodes.ts';
import { nothingDone, type PoolOutcome } from './pool-outcome.ts';
import { applyRuntimeClass } from './runtime-class-writer.ts';
import type { StatusPace } from './status-pace.ts';
import { writeStatus } from './status-writer.ts';
import { endTakeover, finishTakeover, prepare } from './takeover.ts';
import { WritePace } from './write-pace.ts';

export interface ReconcilerOptions extends PoolNodesOptions, Pick<OutcomeEventsOptions, 'onMoves'> {
  now: () => Date;
  /** Caches keep the cluster state current, and have a pool that changes reconciled again. */
  isFollowed?: boolean;
  /** Pools that are deleted, with their UIDs: another one that has the name by now is left as it is. */
  deleted?: ReadonlyMap<string, string>;
  /** See StatusPace; without it every status is written at once. */
  statusPace?: StatusPace;
  /** Pods on a node that have not ended, where they are counted. */
  podsOn?: (node: string) => number;
}

/** Once the signal is aborted no write begins: this ends what was about to send one. */
class Interrupted extends Error {}

export class Reconciler {
  /** Its limiter begins nothing once the signal is aborted. */
  readonly #options: ReconcilerOptions & { pace: WritePace };
  readonly #events: OutcomeEvents;
  readonly #nodes: PoolNodes;

  constructor(options: ReconcilerOptions) {
    const { limit, signal } = options;
    const begin: Limiter = work =>
      limit(async () => {
        if (signal?.aborted) throw new Interrupted();
        return work();
      });
    const pace = options.pace ?? new WritePace(options.clock);
    this.#options = { ...options, limit: begin, pace };
    this.#events = new OutcomeEvents(options);
    this.#nodes = new PoolNodes({ ...options, pace });
  }

  /** Throws NodepoolError when the pool itself cannot be read, or not be given what a pool has before its nodes. */
  async reconcile(name: string): Promise<PoolOutcome> {
    const pending = () => ({ ...nothingDone(name), unwritten: this.#nodes.pending(name) });
    return this.#untilInterrupted(pending, () => this.#reconcile(name)).finally(() =>
      this.#nodes.gonePools.forget(name),
    );
  }

  async #reconcile(name: string): Promise<PoolOutcome> {
    const { state, limit } = this.#options;
    const known = state.pool(name);
    // A new CRD changes what is read of a pool, and no event tells of it.
    const pool = known?.dropped === undefined ? known : await readPool(name, known.metadata.uid, this.#options);
    if (pool !== undefined) assertWhole(pool);
    const uid = this.#options.deleted?.get(name);
    if (pool !== undefined && uid !== undefined && pool.metadata.uid !== uid) throw remade(name);
    if (pool === undefined) return this.#releaseOrphans(name);
    if (pool.metadata.deletionTimestamp !== undefined) return this.#finalize(pool);
    if (state.poolIndex.errors(name).length > 0) return this.#reconcilePool(pool, false);
    const held = await limit(() => prepare(pool, this.#options)).catch((error: unknown) => {
      if (error instanceof NodeWriteError) return error;
      throw error;
    });
    if (held instanceof NodeWriteError) return this.#reconcilePool(state.pool(name) ?? pool, false, held);
    if (held === undefined || held.metadata.deletionTimestamp !== undefined) return this.#reconcile(name);
    return this.#reconcilePool(held, true);
  }

  /** @param outcome what was done until then */
  async #untilInterrupted(outcome: () => PoolOutcome, work: () => Promise<PoolOutcome>): Promise<PoolOutcome> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      return this.#interrupted(outcome());
    }
  }

  /**
   * @param valid else only nodes that left are released: members and RuntimeClass stay until the spec is mended
   * @param unprepared why the pool could not be given what it has before its nodes
   */
  async #reconcilePool(pool: NodePool, valid: boolean, unprepared?: NodeWriteError): Promise<PoolOutcome> {
    const name = pool.metadata.name;
    const outcome = nothingDone(name);
    if (unprepared !== undefined) addFailure(outcome, unprepared);
    return this.#untilInterrupted(
      () => outcome,
      () => this.#reconcilePoolInto(outcome, pool, valid),
    );
  }

  async #reconcilePoolInto(outcome: PoolOutcome, pool: NodePool, valid: boolean): Promise<PoolOutcome> {
    const { state, limit, podsOn } = this.#options;
    const { name } = pool.metadata;
    // Before the nodes: new pods must find the tolerations when the taints arrive.
    if (valid) await this.#applyRuntimeClass(pool, outcome);
    const unmet = this.#options.changes === undefined ? outcome.failures : [...outcome.failures];
    const isAnswered = await this.#nodes.apply(name, outcome);
    if (outcome.unwritten > 0) throw new Interrupted();
    const due = this.#nodes.due(name);
    if (due.length > 0) {
      const others = due.filter(node => !this.#nodes.isMeant(node));
      if (others.length > 0) outcome.warnings.push(notApplied(name, others.length));
      await this.#events.send(this.#events.ofWrites(outcome, pool), outcome);
      return outcome;
    }
    const current = valid && isAnswered ? await this.#endTakeover(pool, outcome) : pool;
    const members = state.members(name);
    const observed: Observation = {
      members,
      specErrors: state.poolIndex.errors(name),
      conflicts: conflictMessages(pool, state.lost(name), outcome.runtimeClass),
      failures: [...new Set(messagesOf(unmet))],
      podCount: podsOn && members.reduce((sum, node) => sum + podsOn(node.name), 0),
    };
    const written = await writeStatus(current, observed, outcome, this.#options);
    const unmarked =
      written === 'written'
        ? await attemptHeld(outcome, () => limit(() => finishTakeover(name, outcome.status, this.#options)))
        : undefined;
    const isNews = unmarked instanceof NodeWriteError && !unmarked.isHeldBack;
    await this.#events.send(
      [
        ...this.#events.ofWrites(outcome, pool),
        ...(outcome.status ? conditionEvents(pool, outcome.status).map(event => [pool, event] as const) : []),
        ...(isNews ? [[pool, warning(REASON.reconcileFailed, unmarked.oneLine)] as const] : []),
      ],
      outcome,
    );
    if (outcome.status !== undefined || written === 'held') return outcome;
    // Deleted while its nodes were written: what it was given after somebody released it is let go again.
    const again = await this.#untilInterrupted(
      () => nothingDone(name),
      () => this.#reconcile(name),
    );
    return { ...again, moves: [...outcome.moves, ...again.moves], warnings: [...outcome.warnings, ...again.warnings] };
  }

  async #endTakeover(pool: NodePool, outcome: PoolOutcome): Promise<NodePool> {
    let ended = pool;
    await attemptHeld(outcome, async () => {
      ended = await this.#options.limit(() => endTakeover(pool, this.#options));
    });
    return ended;
  }

  /** Lets go of every node, then of the RuntimeClass, then of the pool; stops where something fails. */
  async #finalize(pool: NodePool): Promise<PoolOutcome> {
    const { state } = this.#options;
    const { name, uid } = pool.metadata;
    // One that was made anew under the name since, or that a restored etcd has unmarked, holds the nodes now.
    const { kind } = planRuntimeClass(pool, state.runtimeClass(runtimeClassName(name)));
    const isAsked = await this.#askForPool(name, kind === 'delete');
    if (isAsked && (state.pool(name)?.metadata.uid !== uid || state.isStaying(name))) return this.#reconcile(name);
    const outcome: PoolOutcome = { ...nothingDone(name), kind: 'released' };
    return this.#untilInterrupted(
      () => outcome,
      () => this.#finalizeInto(outcome, pool),
    );
  }

  async #finalizeInto(outcome: PoolOutcome, pool: NodePool): Promise<PoolOutcome> {
    const { limit } = this.#options;
    await this.#nodes.apply(outcome.pool, outcome);
    if (outcome.unwritten > 0) throw new Interrupted();
    await this.#applyRuntimeClass(pool, outcome);
    const events = this.#events.ofWrites(outcome, pool);
    if (outcome.failures.length > 0) {
      events.push([
        pool,
        warning(REASON.reconcileFailed, `cannot release the pool: ${messagesOf(outcome.failures).join('; ')}`),
      ]);
    }
    await this.#events.send(events, outcome);
    if (outcome.failures.length > 0) return outcome;
    try {
      await attempt(outcome.failures, () => limit(() => dropFinalizer(pool, this.#options)));
      return outcome;
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      return { ...outcome, kind: 'interrupted' };
    }
  }

  /** The pool is gone without its finalizer having been honoured, or never had one. */
  async #releaseOrphans(name: string): Promise<PoolOutcome> {
    // Nodes and pools are read apart: a record may be known before the new pool that somebody else just gave it.
    if ((await this.#askForPool(name)) && this.#options.state.pool(name) !== undefined) return this.#reconcile(name);
    const outcome: PoolOutcome = { ...nothingDone(name), kind: 'released' };
    await this.#nodes.apply(name, outcome);
    if (outcome.unwritten > 0) return this.#interrupted(outcome);
    await this.#events.send(this.#events.ofWrites(outcome), outcome);
    return outcome;
  }

  /** Nothing more is written, but what was is reported as Events. */
  async #interrupted(outcome: PoolOutcome): Promise<PoolOutcome> {
    await this.#events.send(this.#events.ofWrites(outcome, this.#options.state.pool(outcome.pool)), outcome);
    return { ...outcome, kind: 'interrupted' };
  }

  /**
   * Asks the server for a pool whose nodes are about to be released, the cluster state following; false when no node is.
   * @param isDue it is asked for in any case: something else is about to be deleted
   */
  async #askForPool(name: string, isDue = false): Promise<boolean> {
    const { state, limit } = this.#options;
    if (!isDue && !state.held(name).some(node => this.#nodes.needsWrite(node.name))) return false;
    await limit(() => this.#nodes.gonePools.ask(name));
    return true;
  }

  async #applyRuntimeClass(pool: NodePool, outcome: PoolOutcome): Promise<void> {
    const { cluster, state, dryRun, limit, pace } = this.#options;
    await attemptHeld(outcome, async () => {
      outcome.runtimeClass = await limit(() => applyRuntimeClass(pool, cluster, state, dryRun, pace));
    });
  }
}

/** @param nodes how many others than those to be written differ from what the pool wants */
function notApplied(pool: string, nodes: number): string {
  const subject = nodes === 1 ? '1 other node of it is' : `${nodes} other nodes of it are`;
  return `${subject} not as the pool says, and its status was left as it was: run \`kubectl nodepool reconcile ${pool}\``;
}
