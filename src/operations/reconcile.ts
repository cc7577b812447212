/** One shot over all pools, or the named ones. */

import { createLimiter } from '../controller/limiter.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { defined } from '../nodepool/json.ts';
import { plural } from '../nodepool/plural.ts';
import type { AppliedRecord } from '../nodepool/record.ts';
import { messagesOf } from '../reconciler/failure.ts';
import { planOf } from '../reconciler/node-plan.ts';
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
  const summaries = await reconcileView(view, names, options, deps, counts);
  deps.warn(await settleOthers(view, names, summaries, options, deps, counts));
  return summaries;
}

/** The same on a view that is loaded already. */
export async function reconcileView(
  view: View,
  names: string[],
  options: Pick<ReconcileOptions, 'concurrency' | 'dryRun'>,
  deps: ReconcileDeps,
  counts?: ReadonlyMap<string, number>,
): Promise<PoolSummary[]> {
  const reconciler = reconcilerOf(view, options, deps, podsOnOf(counts));
  deps.warn(names.flatMap(name => firstStripWarning(view, name)));
  const first = await Promise.all(names.map(name => settled(name, reconciler.reconcile(name))));
  // One that another pool's reconcile gave a node, or took one from, may have been done before.
  const touched = touchedByOthers(first);
  const results = await Promise.all(
    first.map(async result => {
      if (result.outcome === undefined || !touched.has(result.pool)) return result;
      return joined(result.outcome, await settled(result.pool, reconciler.reconcile(result.pool)));
    }),
  );

  const moves = results.flatMap(({ outcome }) => outcome?.moves ?? []);
  return results.map(({ pool, outcome, error }): PoolSummary => {
    const joined = moves.filter(move => move.to === pool && move.from !== pool).length;
    const left = moves.filter(move => move.from === pool && move.to !== pool).length;
    const updated = moves.filter(move => move.from === pool && move.to === pool && move.changes.length > 0).length;
    return { pool, outcome, error, joined, left, updated };
  });
}

/** Pools that took part in moves of other pools' outcomes, with the nodes. */
function touchedByOthers(results: readonly Settled[]): Map<string, Set<string>> {
  const touched = new Map<string, Set<string>>();
  for (const { pool, outcome } of results) {
    for (const { node, from, to } of outcome?.moves ?? []) {
      for (const other of [from, to]) {
        if (other === undefined || other === pool) continue;
        touched.set(other, (touched.get(other) ?? new Set()).add(node));
      }
    }
  }
  return touched;
}

/** The second outcome of a pool, with what the first one did. */
function joined(first: PoolOutcome, { pool, outcome, error }: Settled): Settled {
  if (outcome === undefined) return { pool, outcome: first, error };
  const runtimeClass = outcome.runtimeClass.kind === 'unchanged' ? first.runtimeClass : outcome.runtimeClass;
  return {
    pool,
    outcome: {
      ...outcome,
      runtimeClass,
      lacking: [...new Set([...first.lacking, ...outcome.lacking])],
      statusWritten: first.statusWritten || outcome.statusWritten,
      moves: [...first.moves, ...outcome.moves],
      warnings: [...new Set([...first.warnings, ...outcome.warnings])],
    },
    error,
  };
}

/** Brings the status of pools up to date that were not asked for, and got or lost nodes by those that were. */
async function settleOthers(
  view: View,
  names: readonly string[],
  summaries: readonly PoolSummary[],
  options: ReconcileOptions,
  deps: ReconcileDeps,
  counts?: ReadonlyMap<string, number>,
): Promise<string[]> {
  const others = [...touchedByOthers(summaries)].filter(([pool]) => !names.includes(pool));
  const only = new Set(others.flatMap(([, nodes]) => [...nodes]));
  const pools = others.map(([pool]) => pool);
  return (await reconcileOnly(view, pools, only, options, deps, counts)).flatMap(staleWarnings);
}

/** Of these pools, where they stay, nothing but these nodes and the status. One that fails does not stop the others. */
export function reconcileOnly(
  view: View,
  pools: readonly string[],
  only: ReadonlySet<string>,
  options: Pick<ReconcileOptions, 'concurrency' | 'dryRun'>,
  deps: Omit<ReconcileDeps, 'warn'>,
  counts?: ReadonlyMap<string, number>,
): Promise<Settled[]> {
  const reconciler = reconcilerOf(view, options, deps, { ...podsOnOf(counts), only });
  const staying = pools.filter(pool => view.isStaying(pool));
  return Promise.all(staying.map(pool => settled(pool, reconciler.reconcile(pool))));
}

/** Of a pool that was not asked for and is left behind by what was done. */
export function staleWarnings({ pool, outcome, error }: Settled): string[] {
  const problems = [...messagesOf(outcome?.failures ?? []), ...(error === undefined ? [] : [error.oneLine])];
  const [first] = problems;
  const warnings = (outcome?.warnings ?? []).map(text => `${pool}: ${text}`);
  if (first === undefined) return warnings;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return [...warnings, `${pool} is not up to date: ${first}${more}; run \`kubectl nodepool reconcile ${pool}\``];
}

function podsOnOf(counts: ReadonlyMap<string, number> | undefined): Pick<ReconcilerOptions, 'podsOn'> {
  return counts === undefined ? {} : { podsOn: node => counts.get(node) ?? 0 };
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
