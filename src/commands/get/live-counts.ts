/** Pools with values computed from the current nodes: STATUS, numbers of nodes, and resources. */
import type { ClusterReader } from '../../kube/cluster.ts';
import { countMaintenance, type MaintenanceCounts } from '../../nodepool/drain/maintenance.ts';
import { sumAllocatable } from '../../nodepool/quantity/node-resources.ts';
import type { LiveState } from '../../nodepool/status/state-word.ts';
import type { Node, NodePool, ResourceList } from '../../nodepool/types.ts';
import { liveState } from '../../reconciler/plan/live-state.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../reconciler/state/unread-annotations.ts';

export interface LivePool extends LiveState {
  cordoned: number;
  allocatable: ResourceList;
  maintenance: MaintenanceCounts;
}

/** By name. @param pools every pool, since ownership of a node depends on all of them @param listed all nodes */
export async function livePools(
  cluster: ClusterReader,
  pools: readonly NodePool[],
  listed: readonly Node[],
): Promise<ReadonlyMap<string, LivePool>> {
  const state = clusterStateOf(cluster, pools, listed);
  await readAnnotations(state, () => cluster.nodes.list());
  const now = cluster.nodes.serverTime();
  return new Map(pools.map(pool => [pool.metadata.name, livePool(state, pool, now)]));
}

/** @param now by the server's clock */
export function livePool(state: ClusterState, pool: NodePool, now: Date): LivePool {
  const members = state.members(pool.metadata.name);
  return {
    ...liveState(state, pool, now),
    cordoned: members.filter(({ unschedulable }) => unschedulable).length,
    allocatable: sumAllocatable(members),
    maintenance: countMaintenance(members, now),
  };
}
