/**
 * Releases the nodes of a pool that is being deleted, or is gone: nodes, RuntimeClass, Events, finalizer. If a step
 * fails, only the Events of completed writes follow: a pool keeps its RuntimeClass while a node may have its taints,
 * and its finalizer while anything of it is left.
 */
import { warningText } from '../nodepool/errors.ts';
import { FINALIZER, type NodePool } from '../nodepool/types.ts';
import { conditionEvents, type OutcomeEvents } from './events.ts';
import { Interrupted, type Interruption } from './interruption.ts';
import type { WriterOptions } from './options.ts';
import { collectFailure, emptyOutcome, type PoolOutcome, summarized } from './outcome.ts';
import type { NodeWriter } from './write/node-writer.ts';
import { dropFinalizer } from './write/pool-metadata.ts';
import { deletesRuntimeClass, writeRuntimeClass } from './write/runtime-class-writer.ts';
import { writeStatus } from './write/status-writer.ts';

export class PoolRelease {
  readonly #options: WriterOptions;
  readonly #nodes: NodeWriter;
  readonly #events: OutcomeEvents;
  readonly #interruption: Interruption;

  /** @param options its limiter throws Interrupted once the signal is aborted */
  constructor(options: WriterOptions, nodes: NodeWriter, events: OutcomeEvents, interruption: Interruption) {
    this.#options = options;
    this.#nodes = nodes;
    this.#events = events;
    this.#interruption = interruption;
  }

  /**
   * Releases every node, then deletes the RuntimeClass, then removes the finalizer, each only if the previous steps
   * succeeded. The status reports failures. Undefined if the server has another pool of that name, or has it without a
   * deletionTimestamp; the cluster state then has that pool.
   */
  async ofDeleted(pool: NodePool): Promise<PoolOutcome | undefined> {
    const { state } = this.#options;
    const { name, uid } = pool.metadata;
    // A recreated pool, or one that a restored etcd has without its deletionTimestamp, owns the nodes now.
    const isRead = await this.#readBeforeRelease(name, deletesRuntimeClass(pool, state));
    if (isRead && (state.pool(name)?.metadata.uid !== uid || state.isActive(name))) return undefined;
    const outcome: PoolOutcome = { ...emptyOutcome(name), kind: 'released' };
    return this.#interruption.until(
      () => outcome,
      () => this.#releaseInOrder(outcome, pool),
    );
  }

  async #releaseInOrder(outcome: PoolOutcome, pool: NodePool): Promise<PoolOutcome> {
    const { limitObjects } = this.#options;
    await this.#nodes.apply(outcome.pool, outcome);
    if (outcome.unwritten > 0) throw new Interrupted();
    // New pods that name it get tolerations for nodes that still have the taints.
    if (outcome.failures.length === 0) await writeRuntimeClass(pool, outcome, this.#options);
    await this.#events.send(this.#events.ofWrites(outcome, pool), outcome);
    try {
      if (outcome.failures.length === 0) {
        // The pool stays, and its last status must not count released nodes.
        if (pool.metadata.finalizers?.some(each => each !== FINALIZER))
          await this.#writeStatus(pool, { ...outcome, failures: [] });
        const current = this.#options.state.pool(outcome.pool) ?? pool;
        await collectFailure(outcome.failures, () => limitObjects(() => dropFinalizer(current, this.#options)));
      }
      if (outcome.failures.length > 0) await this.#writeStatus(pool, outcome);
      return outcome;
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      return { ...outcome, kind: 'interrupted' };
    }
  }

  async #writeStatus(pool: NodePool, outcome: PoolOutcome): Promise<void> {
    const { state, cluster } = this.#options;
    // In a dry run, only the cluster state has the pool's deletionTimestamp.
    if (cluster.isDryRun) return;
    const members = state.managedNodes(outcome.pool);
    const failures = summarized(outcome.failures).map(({ message, next }) => warningText({ message, next }));
    const differing = members.map(({ name }) => name);
    const nothing = { specErrors: [], conflicts: [], podCount: undefined };
    const observed = { ...nothing, members, differing, failures, isReleased: true };
    const current = state.pool(outcome.pool) ?? pool;
    await writeStatus(current, observed, outcome, this.#options);
    if (outcome.status === undefined) return;
    const events = conditionEvents(pool, outcome.status);
    await this.#events.send(
      events.map(event => [pool, event] as const),
      outcome,
    );
  }

  /** The pool is gone, and its finalizer was removed by others or never set. Undefined if the server has the pool. */
  async ofGone(name: string): Promise<PoolOutcome | undefined> {
    // Nodes and pools are read separately: the record of a new pool may be known before the pool.
    if ((await this.#readBeforeRelease(name)) && this.#options.state.pool(name) !== undefined) return undefined;
    const outcome: PoolOutcome = { ...emptyOutcome(name), kind: 'released' };
    await this.#nodes.apply(name, outcome);
    if (outcome.unwritten > 0) return this.#interruption.end(outcome);
    await this.#events.send(this.#events.ofWrites(outcome), outcome);
    return outcome;
  }

  /** Reads a pool before it releases nodes; false if it releases none. @param isDue its RuntimeClass will be deleted */
  async #readBeforeRelease(name: string, isDue = false): Promise<boolean> {
    const { state, limitObjects } = this.#options;
    if (!isDue && !state.managedNodes(name).some(node => this.#nodes.needsWrite(node.name))) return false;
    await limitObjects(() => this.#nodes.gates.gonePools.read(name));
    return true;
  }
}
