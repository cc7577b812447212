/**
 * Reconciles one pool by its name: looks at what is there, plans, writes what differs, tells what changed.
 *
 * Level-triggered and idempotent: killed after any write, the next call ends in the same state without another create
 * or delete. Calls for different pools may run at the same time; calls for one pool must not.
 * Not guaranteed: that an Event survives a crash between a write and its Event.
 */

import { NodepoolError } from '../nodepool/errors.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import { computeStatus, type Observation } from '../nodepool/status.ts';
import { timestamp } from '../nodepool/timestamp.ts';
import type { NodePool, NodePoolStatus } from '../nodepool/types.ts';
import { conflictDelay } from './conflict-delay.ts';
import { conflictMessages } from './conflicts.ts';
import { conditionEvents, moveEvents, REASON, runtimeClassEvents, warning } from './events.ts';
import { attempt, messagesOf, type WriteFailure } from './failure.ts';
import { addFinalizer, dropFinalizer } from './finalizer.ts';
import type { NodeMove } from './node-writer.ts';
import { PoolNodes, type PoolNodesOptions } from './pool-nodes.ts';
import type { PoolEvent } from './ports.ts';
import { type RuntimeClassOutcome, settleRuntimeClass } from './runtime-class-writer.ts';

export interface ReconcilerOptions extends PoolNodesOptions {
  now: () => Date;
  /** The port's writes are dry: nothing that was deleted is gone. */
  dryRun: boolean;
  /** Caches keep the view current, and have a pool that changes reconciled again. */
  isFollowed?: boolean;
  /** Pods on a node that have not ended, where they are counted. */
  podsOn?: (node: string) => number;
}

export interface PoolOutcome {
  pool: string;
  /**
   * `released`: the pool is being deleted, or is gone already, and its nodes are released. `interrupted`: the run was
   * stopped before all of it was written.
   */
  kind: 'reconciled' | 'released' | 'interrupted';
  status: NodePoolStatus | undefined;
  /** Whether the status was written: it differed. */
  statusWritten: boolean;
  /** Node writes of this call; a node that moved between pools stands in the outcome of one of them. */
  moves: NodeMove[];
  runtimeClass: RuntimeClassOutcome;
  /** What could not be written, in an order that does not change from run to run. */
  failures: WriteFailure[];
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
  /** What people should know and is no failure, each a sentence: events that could not be sent, nodes not to be written. */
  warnings: string[];
}

const MOST_STATUS_ATTEMPTS = 10;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #nodes: PoolNodes;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#nodes = new PoolNodes(options);
  }

  /** Throws NodepoolError when the pool itself or its status cannot be read or written. */
  async reconcile(name: string): Promise<PoolOutcome> {
    const { view, limit } = this.#options;
    if (this.#isInterrupted()) return this.#interrupted({ ...nothingDone(name), unwritten: this.#nodes.pending(name) });
    const pool = view.pool(name);
    if (pool === undefined) return this.#releaseOrphans(name);
    if (pool.metadata.deletionTimestamp !== undefined) return this.#finalize(pool);
    if (view.specErrors(name).length > 0) return this.#settle(pool, false);
    const held = await limit(() => addFinalizer(pool, this.#options));
    if (held === undefined || held.metadata.deletionTimestamp !== undefined) return this.reconcile(name);
    return this.#settle(held, true);
  }

  /** @param valid else only nodes that left are let go: members and RuntimeClass stay until the spec is mended */
  async #settle(pool: NodePool, valid: boolean): Promise<PoolOutcome> {
    const { view, limit, podsOn } = this.#options;
    const name = pool.metadata.name;
    const outcome = nothingDone(name);
    // Before the nodes: new pods must find the tolerations when the taints arrive.
    if (valid) {
      await attempt(outcome.failures, async () => {
        outcome.runtimeClass = await limit(() => this.#settleRuntimeClass(pool));
      });
    }
    const unmet = this.#options.changes === undefined ? outcome.failures : [...outcome.failures];
    await this.#nodes.settle(name, outcome);
    if (this.#isInterrupted()) return this.#interrupted(outcome, runtimeClassEvents(pool, outcome.runtimeClass));
    const due = this.#nodes.due(name);
    if (due.length > 0) {
      const others = due.filter(node => !this.#nodes.isMeant(node));
      if (others.length > 0) outcome.warnings.push(notApplied(name, others.length));
      await this.#tell([...this.#moveEvents(outcome), ...runtimeClassEvents(pool, outcome.runtimeClass)], outcome);
      return outcome;
    }
    const members = view.members(name);
    const observed: Observation = {
      members,
      specErrors: view.specErrors(name),
      conflicts: conflictMessages(pool, view.lost(name), outcome.runtimeClass),
      failures: messagesOf(unmet),
      podCount: podsOn && members.reduce((sum, node) => sum + podsOn(node.name), 0),
    };
    outcome.status = await this.#writeStatus(pool, observed, outcome);
    await this.#tell(
      [
        ...this.#moveEvents(outcome),
        ...runtimeClassEvents(pool, outcome.runtimeClass),
        ...(outcome.status ? conditionEvents(pool, outcome.status).map(event => [pool, event] as const) : []),
      ],
      outcome,
    );
    if (outcome.status !== undefined) return outcome;
    // Deleted while its nodes were written: what it was given after somebody released it is let go again.
    const again = await this.reconcile(name);
    return { ...again, moves: [...outcome.moves, ...again.moves], warnings: [...outcome.warnings, ...again.warnings] };
  }

  /** Lets go of every node, then of the RuntimeClass, then of the pool; stops where something fails. */
  async #finalize(pool: NodePool): Promise<PoolOutcome> {
    const { limit } = this.#options;
    const outcome: PoolOutcome = { ...nothingDone(pool.metadata.name), kind: 'released' };
    await this.#nodes.settle(pool.metadata.name, outcome);
    if (this.#isInterrupted()) return this.#interrupted(outcome);
    await attempt(outcome.failures, async () => {
      outcome.runtimeClass = await limit(() => this.#settleRuntimeClass(pool));
    });
    const events = [...this.#moveEvents(outcome), ...runtimeClassEvents(pool, outcome.runtimeClass)];
    if (outcome.failures.length > 0) {
      events.push([
        pool,
        warning(REASON.reconcileFailed, `cannot release the pool: ${messagesOf(outcome.failures).join('; ')}`),
      ]);
    }
    await this.#tell(events, outcome);
    if (outcome.failures.length === 0) await limit(() => dropFinalizer(pool, this.#options));
    return outcome;
  }

  /** The pool is gone without its finalizer having been honoured, or never had one. */
  async #releaseOrphans(name: string): Promise<PoolOutcome> {
    const { cluster, view, limit } = this.#options;
    if (view.held(name).some(node => this.#nodes.needsWrite(node.name))) {
      // Nodes and pools are read apart: a record may be known before the new pool that somebody else just gave it.
      const pool = await limit(() => cluster.getPool(name));
      if (pool !== undefined) view.setPool(pool);
      if (view.pool(name) !== undefined) return this.reconcile(name);
    }
    const outcome: PoolOutcome = { ...nothingDone(name), kind: 'released' };
    await this.#nodes.settle(name, outcome);
    if (this.#isInterrupted()) return this.#interrupted(outcome);
    await this.#tell(this.#moveEvents(outcome), outcome);
    return outcome;
  }

  #isInterrupted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /** Nothing more is written, but what was is reported as Events. */
  async #interrupted(outcome: PoolOutcome, events: (readonly [NodePool, PoolEvent])[] = []): Promise<PoolOutcome> {
    await this.#tell([...this.#moveEvents(outcome), ...events], outcome);
    return { ...outcome, kind: 'interrupted' };
  }

  /**
   * Writes the status if it differs, and gives it. Undefined when the pool is gone, is being deleted, or another one has
   * its name now.
   * @param outcome told whether it was written. If nodes were, the pool is looked at even if the status stays: a deletion
   * may have crossed the node writes. Where the view is followed that enqueues the pool again, and a request for every
   * repaired node is saved.
   */
  async #writeStatus(pool: NodePool, observed: Observation, outcome: PoolOutcome): Promise<NodePoolStatus | undefined> {
    const { cluster, view, limit, now, sleep, isFollowed = false } = this.#options;
    const { metadata, spec } = pool;
    const { name, generation = 0 } = metadata;
    let current = pool;
    for (let attempt = 1; attempt <= MOST_STATUS_ATTEMPTS; attempt++) {
      // What was observed belongs to the spec that was read; the conditions of others to the status as it is now.
      const status = computeStatus({ ...current, metadata, spec }, observed, timestamp(now()));
      if (deepEqual(current.status, status)) {
        if (attempt > 1 || outcome.moves.length === 0 || isFollowed) return status;
        return this.#isStill(pool, await limit(() => cluster.getPool(name))) ? status : undefined;
      }
      view.expectStatus(name, status);
      const write = await limit(() => cluster.patchStatus(current, status));
      outcome.statusWritten = write.kind === 'written';
      if (write.kind === 'written') return this.#isStill(pool, write.pool) ? status : undefined;
      await sleep(conflictDelay(attempt, Math.random()));
      const latest = write.kind === 'gone' ? undefined : await limit(() => cluster.getPool(name));
      if (!this.#isStill(pool, latest) || latest === undefined) return undefined;
      // Another process has reconciled a later spec: its word stands.
      if (latest.status !== undefined && (latest.status.observedGeneration ?? 0) > generation) return latest.status;
      current = latest;
    }
    throw new NodepoolError('cluster', `cannot write the status of nodepool ${name}: somebody else keeps changing it`);
  }

  /** Whether the pool that was read now is the one that was reconciled, and not being deleted. The view follows. */
  #isStill(pool: NodePool, latest: NodePool | undefined): boolean {
    const { view } = this.#options;
    if (latest === undefined) view.removePool(pool.metadata.name, pool.metadata.uid);
    else view.setPool(latest);
    return latest?.metadata.uid === pool.metadata.uid && latest?.metadata.deletionTimestamp === undefined;
  }

  #settleRuntimeClass(pool: NodePool): Promise<RuntimeClassOutcome> {
    const { cluster, view, dryRun } = this.#options;
    return settleRuntimeClass(pool, cluster, view, dryRun);
  }

  #moveEvents(outcome: PoolOutcome): (readonly [NodePool, PoolEvent])[] {
    return [...moveEvents(outcome.moves)].flatMap(([name, events]) => {
      const pool = this.#options.view.pool(name);
      return pool === undefined ? [] : events.map(event => [pool, event] as const);
    });
  }

  async #tell(events: (readonly [NodePool, PoolEvent])[], outcome: PoolOutcome): Promise<void> {
    const { cluster, limit } = this.#options;
    const failures: WriteFailure[] = [];
    await Promise.all(
      events.map(([pool, event]) => attempt(failures, () => limit(() => cluster.createEvent(pool, event)))),
    );
    outcome.warnings.push(...messagesOf(failures));
  }
}

function nothingDone(pool: string): PoolOutcome {
  return {
    pool,
    kind: 'reconciled',
    status: undefined,
    statusWritten: false,
    moves: [],
    runtimeClass: { kind: 'unchanged' },
    failures: [],
    unwritten: 0,
    warnings: [],
  };
}

/** @param nodes how many others than those to be written differ from what the pool wants */
function notApplied(pool: string, nodes: number): string {
  const subject = nodes === 1 ? '1 other node of it is' : `${nodes} other nodes of it are`;
  return `${subject} not as the pool says, and its status was left as it was: run \`kubectl nodepool reconcile ${pool}\``;
}
