import type { Connection } from '../../cli/factory.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { liveState } from '../../reconciler/plan/live-state.ts';
import { loadClusterState } from '../shared/pools/load-cluster-state.ts';
import { valueOrRefusal } from '../shared/refusals.ts';

/** Number of nodes that a reconcile would change now; undefined if pools or nodes cannot be listed. */
export async function dueNodes(
  pool: NodePool,
  cluster: Connection['cluster'],
): Promise<{ nodes: number; due: number } | undefined> {
  const found = await valueOrRefusal(() => loadClusterState(cluster, Promise.resolve([])));
  return 'refusal' in found ? undefined : liveState(found.value, pool, cluster.nodes.serverTime());
}
