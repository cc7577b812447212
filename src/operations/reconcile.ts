/** One shot over all pools, or the named ones. */
import { NodepoolError } from '../nodepool/errors.ts';
import { normal, REASON } from '../reconciler/events.ts';
import { createLimiter } from '../reconciler/limiter.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { type NodeProgress, type PoolOutcome, Reconciler } from '../reconciler/reconciler.ts';
import type { View } from '../reconciler/view.ts';
import { loadView, selectPools } from './load-view.ts';

export interface ReconcileOptions {
  /** Empty: every pool. */
  names: string[];
  /** Requests under way at most. */
  concurrency: number;
  /** The cluster port's writes are dry. */
  dryRun: boolean;
}

export interface ReconcileDeps {
  cluster: ClusterPort;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  progress?: NodeProgress;
  /** Called once before anything is written, with sentences that people should read first. */
  warn: (warnings: string[]) => void;
}

/** What a run did to one pool, moves of other pools' outcomes included. */
export interface PoolSummary {
  pool: string;
  outcome: PoolOutcome | undefined;
  /** Why the pool could not be reconciled at all. */
  error: NodepoolError | undefined;
  joined: number;
  left: number;
  updated: number;
  /** Members of the last run that are gone from the cluster. */
  deleted: number;
}

export async function reconcile(options: ReconcileOptions, deps: ReconcileDeps): Promise<PoolSummary[]> {
  const view = await loadView(deps.cluster);
  return reconcileView(view, selectPools(view, options.names), options, deps);
}

/** The same on a view that is loaded already. */
export async function reconcileView(
  view: View,
  names: string[],
  options: Pick<ReconcileOptions, 'concurrency' | 'dryRun'>,
  deps: ReconcileDeps,
): Promise<PoolSummary[]> {
  const { cluster, now, sleep, progress } = deps;
  const limit = createLimiter(options.concurrency);
  const reconciler = new Reconciler({
    cluster,
    view,
    limit,
    now,
    sleep,
    dryRun: options.dryRun,
    ...(progress === undefined ? {} : { progress }),
  });
  deps.warn(names.flatMap(name => firstStripWarning(view, name)));
  const before = new Map(names.map(name => [name, view.pool(name)?.status]));
  const results = await Promise.all(names.map(name => settled(name, reconciler.reconcile(name))));

  const moves = results.flatMap(({ outcome }) => outcome?.moves ?? []);
  const summaries = results.map(({ pool, outcome, error }): PoolSummary => {
    const joined = moves.filter(move => move.to === pool && move.from !== pool).length;
    const left = moves.filter(move => move.from === pool && move.to !== pool).length;
    const updated = moves.filter(move => move.from === pool && move.to === pool && move.changes.length > 0).length;
    // Deleted nodes leave no record behind: they are what the counts do not explain.
    const expected = (before.get(pool)?.nodeCount ?? 0) + joined - left;
    const explained = !options.dryRun && outcome?.kind === 'reconciled' && outcome.failures.length === 0;
    const deleted = explained ? Math.max(0, expected - (outcome.status?.nodeCount ?? expected)) : 0;
    return { pool, outcome, error, joined, left, updated, deleted };
  });
  await Promise.all(
    summaries.map(async ({ pool: name, deleted, outcome }) => {
      const pool = view.pool(name);
      if (pool === undefined || deleted === 0) return;
      const noun = deleted === 1 ? '1 node was' : `${deleted} nodes were`;
      const event = normal(REASON.nodeLeft, `${noun} deleted from the cluster`);
      await limit(() => cluster.createEvent(pool, event)).catch((error: unknown) => {
        if (!(error instanceof NodepoolError)) throw error;
        outcome?.warnings.push(error.message);
      });
    }),
  );
  return summaries;
}

/** One pool that cannot be written does not stop the others. A bug does. */
async function settled(pool: string, work: Promise<PoolOutcome>) {
  try {
    return { pool, outcome: await work, error: undefined };
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { pool, outcome: undefined, error };
  }
}

/** `unmanaged: Remove` takes labels that clouds, CNIs and GPU operators set; the first run over a pool says so. */
export function firstStripWarning(view: View, name: string): string[] {
  const pool = view.pool(name);
  if (pool?.spec.unmanaged !== 'Remove' || view.held(name).some(node => node.record !== undefined)) return [];
  return [
    `pool ${name} has unmanaged: Remove: labels and taints of its ${view.members(name).length} nodes that the pool does not set are removed, those of cloud, CNI and GPU software too; see them with \`kubectl nodepool diff ${name}\`; they come back when the pool lets go`,
  ];
}
