/** Deletes pools and does the release work itself: it never hangs for want of a controller. */
import { membershipSelector } from '../nodepool/selector.ts';
import { FINALIZER, type NodePool } from '../nodepool/types.ts';
import { createLimiter } from '../reconciler/limiter.ts';
import type { View } from '../reconciler/view.ts';
import { loadView, poolNotFound } from './load-view.ts';
import { patchLabels } from './node-labels.ts';
import type { PoolsPort, RawPool } from './ports.ts';
import { type PoolSummary, type ReconcileDeps, reconcileView } from './reconcile.ts';

export interface DeleteOptions {
  names: string[];
  /** Also takes the membership labels off the nodes. */
  detachNodes: boolean;
  concurrency: number;
  dryRun: boolean;
  /** Names that do not exist are passed over. */
  ignoreNotFound: boolean;
}

export interface DeleteResult {
  pool: string;
  summary: PoolSummary;
  /** Nodes that lost their membership label. */
  detached: number;
  /** Other finalizers that keep the pool; empty when it is gone. */
  finalizers: string[];
}

/** Throws, and deletes nothing, when a name does not exist. */
export async function findPools(names: string[], pools: PoolsPort, ignoreNotFound: boolean): Promise<RawPool[]> {
  const unique = [...new Set(names)];
  const found = await Promise.all(unique.map(name => pools.get(name)));
  const missing = unique.filter((_, index) => found[index] === undefined);
  if (missing.length > 0 && !ignoreNotFound) throw poolNotFound(missing);
  return found.filter(pool => pool !== undefined);
}

/** Killed at any point, the same call finishes the work: the pool stays, marked, until its nodes are released. */
export async function deletePools(
  options: DeleteOptions,
  deps: ReconcileDeps & { pools: PoolsPort },
): Promise<DeleteResult[]> {
  const pools = await findPools(options.names, deps.pools, options.ignoreNotFound);
  if (pools.length === 0) return [];
  for (const pool of pools) await deps.pools.delete(pool, { dryRun: options.dryRun });

  const view = await loadView(deps.cluster);
  if (options.dryRun) for (const pool of pools) view.setPool(marked(pool, deps.now()));
  const detached = new Map<string, number>();
  if (options.detachNodes) {
    for (const pool of pools) detached.set(pool.metadata.name, await detach(pool, view, options.concurrency, deps));
  }
  const names = pools.map(pool => pool.metadata.name);
  const summaries = await reconcileView(view, names, options, deps);
  return summaries.map(summary => ({
    pool: summary.pool,
    summary,
    detached: detached.get(summary.pool) ?? 0,
    finalizers: foreignFinalizers(pools.find(pool => pool.metadata.name === summary.pool)),
  }));
}

/** Before the release, so that a run that was killed in between still finds the pool. */
async function detach(pool: NodePool, view: View, concurrency: number, deps: ReconcileDeps): Promise<number> {
  const limit = createLimiter(concurrency);
  const labels = Object.fromEntries(Object.keys(membershipSelector(pool)).map(key => [key, null]));
  const nodes = view.matching(pool).filter(node => {
    const owner = view.claim(node.name)?.owner;
    return owner === undefined || owner === pool.metadata.name;
  });
  await Promise.all(
    nodes.map(node =>
      limit(async () => {
        const written = await patchLabels(node, labels, deps.cluster);
        if (written === undefined) view.removeNode(node.name);
        else view.setNode(written);
      }),
    ),
  );
  return nodes.length;
}

function marked(pool: RawPool, now: Date): NodePool {
  return { ...pool, metadata: { ...pool.metadata, deletionTimestamp: now.toISOString() } };
}

function foreignFinalizers(pool: NodePool | undefined): string[] {
  return (pool?.metadata.finalizers ?? []).filter(finalizer => finalizer !== FINALIZER);
}
