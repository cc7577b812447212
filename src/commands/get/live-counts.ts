/** The members of each pool, and how many differ from it, by the nodes as they are now. */
import type { ClusterReader } from '../../kube/cluster.ts';
import { countMaintenance, type MaintenanceCounts } from '../../nodepool/drain/maintenance.ts';
import { defined } from '../../nodepool/json.ts';
import { computeStatus } from '../../nodepool/status/status.ts';
import type { NodePool, NodePoolStatus } from '../../nodepool/types.ts';
import { differing } from '../../reconciler/plan/node-plan.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../reconciler/state/unread-annotations.ts';
import { allPermitted, type ValueOrRefusal, valueOrRefusal } from '../shared/refusals.ts';

interface StatusCounts {
  status: Pick<
    NodePoolStatus,
    'nodeCount' | 'readyNodeCount' | 'unschedulableNodeCount' | 'updatedNodeCount' | 'allocatable'
  >;
  maintenance: MaintenanceCounts;
}

/**
 * What the status of each pool would say of its nodes now, and how many are in maintenance; or why they could not be read.
 * @param pools every pool, where they are read already: which node is whose depends on all of them
 */
export function liveCounts(
  cluster: ClusterReader,
  now: Date,
  pools?: NodePool[],
): Promise<ValueOrRefusal<ReadonlyMap<string, StatusCounts>>> {
  return valueOrRefusal(async () => {
    const reading = pools === undefined ? cluster.pools.listCoerced() : Promise.resolve(pools);
    const [known, nodes] = await allPermitted([reading, cluster.nodes.list()]);
    const state = clusterStateOf(cluster, known, nodes);
    await readAnnotations(state, () => cluster.nodes.list());
    return new Map(known.map(pool => [pool.metadata.name, countsOf(state, pool, now)]));
  });
}

/** The pool with these counts in its status; one that was never reconciled stays as it is. */
export function withCounts<P extends { status?: NodePoolStatus }>(pool: P, counts: StatusCounts | undefined): P {
  if (pool.status?.nodeCount === undefined || counts === undefined) return pool;
  return { ...pool, status: { ...pool.status, ...counts.status } };
}

function countsOf(state: ClusterState, pool: NodePool, now: Date): StatusCounts {
  const { name } = pool.metadata;
  const observed = { specErrors: [], conflicts: [], failures: [], podCount: undefined };
  const members = state.members(name);
  const { nodeCount, readyNodeCount, unschedulableNodeCount, updatedNodeCount, allocatable } = computeStatus(
    pool,
    { ...observed, members, differing: differing(state, name) },
    '',
  );
  const status = defined({ nodeCount, readyNodeCount, unschedulableNodeCount, updatedNodeCount, allocatable });
  return { status, maintenance: countMaintenance(members, now) };
}
