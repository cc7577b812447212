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
import type { NodePool, NodePoolStatus } from '../nodepool/types.ts';
import { conflictMessages } from './conflicts.ts';
import { conditionEvents, moveEvents, REASON, runtimeClassEvents, warning } from './events.ts';
import { addFinalizer, dropFinalizer } from './finalizer.ts';
import type { Limiter } from './limiter.ts';
import { ContendedError, type NodeMove, NodeWriter } from './node-writer.ts';
import type { ClusterPort, PoolEvent } from './ports.ts';
import { type RuntimeClassOutcome, settleRuntimeClass } from './runtime-class-writer.ts';
import type { View } from './view.ts';

/** Told of node writes as they are decided on and done, whatever came of them. */
export interface NodeProgress {
  planned(nodes: number): void;
  done(): void;
}

export interface ReconcilerOptions {
  cluster: ClusterPort;
  view: View;
  /** Bounds the requests under way, over all pools together. */
  limit: Limiter;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  /** The port's writes are dry: nothing that was deleted is gone. */
  dryRun: boolean;
  progress?: NodeProgress;
}

export interface PoolOutcome {
  pool: string;
  /** `released`: the pool is being deleted, or is gone already, and its nodes were let go. */
  kind: 'reconciled' | 'released';
  status: NodePoolStatus | undefined;
  /** Node writes of this call; a node that moved between pools stands in the outcome of one of them. */
  moves: NodeMove[];
  runtimeClass: RuntimeClassOutcome;
  /** What could not be written, each a sentence. */
  failures: string[];
  /** Events that could not be sent, each a sentence. */
  warnings: string[];
}

/** When this many writes failed and none succeeded, the cluster refuses us: the rest is not tried. */
const HOPELESS = 10;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #writer: NodeWriter;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#writer = new NodeWriter(options.cluster, options.view, options.sleep);
  }

  /** Throws NodepoolError when the pool itself or its status cannot be read or written. */
  async reconcile(name: string): Promise<PoolOutcome> {
    const { cluster, view, limit } = this.#options;
    const pool = view.pool(name);
    if (pool === undefined) return this.#releaseOrphans(name);
    if (pool.metadata.deletionTimestamp !== undefined) return this.#finalize(pool);
    if (view.specErrors(name).length > 0) return this.#conclude(pool, nothingDone(pool));
    const held = await limit(() => addFinalizer(pool, cluster, view));
    if (held === undefined || held.metadata.deletionTimestamp !== undefined) return this.reconcile(name);
    return this.#apply(held);
  }

  async #apply(pool: NodePool): Promise<PoolOutcome> {
    const { view, limit } = this.#options;
    const outcome = nothingDone(pool);
    // Before the nodes: new pods must find the tolerations when the taints arrive.
    await attempt(outcome.failures, async () => {
      outcome.runtimeClass = await limit(() => this.#settleRuntimeClass(pool));
    });
    await this.#settleNodes(view.held(pool.metadata.name), outcome);
    return this.#conclude(pool, outcome);
  }

  /** Lets go of every node, then of the RuntimeClass, then of the pool; stops where something fails. */
  async #finalize(pool: NodePool): Promise<PoolOutcome> {
    const { cluster, view, limit } = this.#options;
    const outcome: PoolOutcome = { ...nothingDone(pool), kind: 'released', status: undefined };
    await this.#settleNodes(view.held(pool.metadata.name), outcome);
    await attempt(outcome.failures, async () => {
      outcome.runtimeClass = await limit(() => this.#settleRuntimeClass(pool));
    });
    const events = [...this.#moveEvents(outcome), ...runtimeClassEvents(pool, outcome.runtimeClass)];
    if (outcome.failures.length > 0) {
      events.push([pool, warning(REASON.reconcileFailed, `cannot release the pool: ${outcome.failures.join('; ')}`)]);
    }
    await this.#tell(events, outcome);
    if (outcome.failures.length === 0) await limit(() => dropFinalizer(pool, cluster, view));
    return outcome;
  }

  /** The pool is gone without its finalizer having been honoured, or never had one. */
  async #releaseOrphans(name: string): Promise<PoolOutcome> {
    const outcome: PoolOutcome = { ...nothingDone(undefined, name), kind: 'released' };
    await this.#settleNodes(this.#options.view.held(name), outcome);
    await this.#tell(this.#moveEvents(outcome), outcome);
    return outcome;
  }

  async #settleNodes(nodes: { name: string }[], outcome: PoolOutcome): Promise<void> {
    const { limit, progress } = this.#options;
    await this.#prepareHeirs(nodes, outcome);
    const changed = nodes.filter(node => this.#writer.plan(node.name)?.patch !== undefined);
    progress?.planned(changed.length);
    let skipped = 0;
    const settle = async (name: string) => {
      if (outcome.moves.length === 0 && outcome.failures.length >= HOPELESS) skipped++;
      else {
        await attempt(outcome.failures, async () => {
          const move = await this.#writer.settle(name);
          if (move !== undefined) outcome.moves.push(move);
        });
      }
      progress?.done();
    };
    await Promise.all(changed.map(node => limit(() => settle(node.name))));
    if (skipped > 0) outcome.failures.push(`${skipped} more nodes were not tried`);
  }

  /** Whoever gets a node of this pool, reconciled yet or not, has the finalizer first that will release it again. */
  async #prepareHeirs(nodes: { name: string }[], outcome: PoolOutcome): Promise<void> {
    const { cluster, view, limit } = this.#options;
    const owners = new Set(nodes.map(node => view.claim(node.name)?.owner));
    for (const name of owners) {
      const heir = name === undefined || name === outcome.pool ? undefined : view.pool(name);
      if (heir === undefined) continue;
      await attempt(outcome.failures, async () => void (await limit(() => addFinalizer(heir, cluster, view))));
    }
  }

  async #conclude(pool: NodePool, outcome: PoolOutcome): Promise<PoolOutcome> {
    const { view, cluster, limit, now } = this.#options;
    const name = pool.metadata.name;
    const observed: Observation = {
      members: view.members(name),
      specErrors: view.specErrors(name),
      conflicts: conflictMessages(pool, view.lost(name), outcome.runtimeClass),
      failures: outcome.failures,
    };
    const status = computeStatus(
      pool,
      observed,
      now()
        .toISOString()
        .replace(/\.\d+Z$/, 'Z'),
    );
    outcome.status = status;
    if (!deepEqual(pool.status, status)) {
      const write = await limit(() => cluster.patchStatus(pool, status));
      if (write.kind === 'written') view.setPool(write.pool);
      else if (write.kind === 'gone') view.removePool(name);
    }
    await this.#tell(
      [
        ...this.#moveEvents(outcome),
        ...runtimeClassEvents(pool, outcome.runtimeClass),
        ...conditionEvents(pool, status).map(event => [pool, event] as const),
      ],
      outcome,
    );
    return outcome;
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
    await Promise.all(
      events.map(([pool, event]) => attempt(outcome.warnings, () => limit(() => cluster.createEvent(pool, event)))),
    );
  }
}

function nothingDone(pool: NodePool | undefined, name = pool?.metadata.name ?? ''): PoolOutcome {
  return {
    pool: name,
    kind: 'reconciled',
    status: pool?.status,
    moves: [],
    runtimeClass: { kind: 'unchanged' },
    failures: [],
    warnings: [],
  };
}

/** Runs the work; a refusal of the cluster becomes a sentence, a bug stays a throw. */
async function attempt(failures: string[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NodepoolError) && !(error instanceof ContendedError)) throw error;
    failures.push(error.message);
  }
}
