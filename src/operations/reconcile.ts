/** One shot over all pools, or the named ones. */

import { createLimiter } from '../controller/limiter.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { defined } from '../nodepool/json.ts';
import { plural } from '../nodepool/plural.ts';
import type { AppliedRecord } from '../nodepool/record.ts';
import { planOf } from '../reconciler/node-writer.ts';
import type { NodeProgress } from '../reconciler/pool-nodes.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { type PoolOutcome, Reconciler, type ReconcilerOptions } from '../reconciler/reconciler.ts';
import type { View } from '../reconciler/view.ts';
import { type Approve, noExecutePlans } from './evictions.ts';
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
  /** Pods by node, to be counted into the status; without it they are not. */
  podCounts?: () => Promise<ReadonlyMap<string, number>>;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  progress?: NodeProgress;
  /** Told of sentences that people should read: before anything is written, or of what is left to do. */
  warn: (warnings: string[]) => void;
  /** Asked once before anything is written; throws when it is not to be. */
  approve?: Approve;
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
}

export async function reconcile(options: ReconcileOptions, deps: ReconcileDeps): Promise<PoolSummary[]> {
  const [view, counts] = await Promise.all([loadView(deps.cluster), deps.podCounts?.()]);
  const names = selectPools(view, options.names);
  const plans = deps.approve === undefined ? [] : noExecutePlans(view, names);
  if (plans.length > 0) await deps.approve?.(async () => plans);
  return reconcileView(view, names, options, deps, counts);
}

/** The same on a view that is loaded already. */
export async function reconcileView(
  view: View,
  names: string[],
  options: Pick<ReconcileOptions, 'concurrency' | 'dryRun'>,
  deps: ReconcileDeps,
  counts?: ReadonlyMap<string, number>,
): Promise<PoolSummary[]> {
  const podsOn = counts && ((node: string) => counts.get(node) ?? 0);
  const reconciler = reconcilerOf(view, options, deps, podsOn === undefined ? {} : { podsOn });
  deps.warn(names.flatMap(name => firstStripWarning(view, name)));
  const results = await Promise.all(names.map(name => settled(name, reconciler.reconcile(name))));

  const moves = results.flatMap(({ outcome }) => outcome?.moves ?? []);
  return results.map(({ pool, outcome, error }): PoolSummary => {
    const joined = moves.filter(move => move.to === pool && move.from !== pool).length;
    const left = moves.filter(move => move.from === pool && move.to !== pool).length;
    const updated = moves.filter(move => move.from === pool && move.to === pool && move.changes.length > 0).length;
    return { pool, outcome, error, joined, left, updated };
  });
}

/** For one run over a view. @param own what tells it from others */
export function reconcilerOf(
  view: View,
  { concurrency, dryRun }: Pick<ReconcileOptions, 'concurrency' | 'dryRun'>,
  { cluster, now, sleep, progress }: Omit<ReconcileDeps, 'warn'>,
  own: Pick<ReconcilerOptions, 'orders' | 'only' | 'podsOn'> = {},
): Reconciler {
  const limit = createLimiter(concurrency);
  return new Reconciler({ cluster, view, limit, now, sleep, dryRun, ...defined({ progress }), ...own });
}

export type Settled = Pick<PoolSummary, 'pool' | 'outcome' | 'error'>;

/** One pool that cannot be written does not stop the others. A bug does. */
export async function settled(pool: string, work: Promise<PoolOutcome>): Promise<Settled> {
  try {
    return { pool, outcome: await work, error: undefined };
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { pool, outcome: undefined, error };
  }
}

/**
 * `unmanaged: Remove` takes labels that clouds, CNIs and GPU operators set; the first plan that does so says it.
 * @param where the changes are seen, and among which nodes they are made, if not all
 */
export function firstStripWarning(
  view: View,
  name: string,
  {
    where = `\`kubectl nodepool diff ${name}\``,
    among,
  }: { where?: string; among?: Pick<ReadonlyMap<string, unknown>, 'has'> } = {},
): string[] {
  if (view.pool(name)?.spec.unmanaged !== 'Remove') return [];
  const held = view.held(name);
  const before = held.some(node => strips(view.claim(node.name)?.record));
  const written = among === undefined ? held : held.filter(node => among.has(node.name));
  const nodes = written.filter(node => planOf(view, node.name)?.changes.some(change => change.reason === 'unmanaged'));
  if (before || nodes.length === 0) return [];
  return [
    `pool ${name} has unmanaged: Remove: labels and taints of ${plural(nodes.length, 'node')} that the pool does not set are removed, those of cloud, CNI and GPU software too; see ${where}; they come back when the pool lets go`,
  ];
}

/** Whether the pool that wrote the record has stripped something already. */
function strips(record: AppliedRecord | undefined): boolean {
  return [...(record?.labels.values() ?? []), ...(record?.taints.values() ?? [])].some(slot => slot.value === null);
}
