/** What new pools would do to nodes, before they are created. */
import type { LabelPatch } from '../../nodepool/member-labels.ts';
import { membershipSelector } from '../../nodepool/selector.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import { type ClusterPlan, planCluster } from '../../reconciler/cluster-plan.ts';
import { clusterStateOf } from '../../reconciler/cluster-state.ts';
import { NO_CHANGE } from '../consent.ts';
import { allPermitted } from '../permitted.ts';
import type { ClusterReader } from '../ports.ts';
import { mayEvict } from '../taint-evictions.ts';

/** The youngest of all: a pool that is still to be created takes no node from another. */
const NOT_YET = '9999-12-31T23:59:59Z';

interface NewPools {
  pools: NodePool[];
}

/** What a reconcile of the new pools would do, as far as it may evict pods: nodes are read only then. @param nodes to be labelled */
export async function planCreate(wanted: NewPools, nodes: Node[], cluster: ClusterReader): Promise<ClusterPlan> {
  // The labels of --nodes may bring a node to another pool; a member stays its pool's whatever labels that sets.
  if (nodes.length === 0 && !mayEvict([], wanted.pools)) return NO_CHANGE;
  const existing = await cluster.pools.listCoerced();
  if (!mayEvict(existing, wanted.pools)) return NO_CHANGE;
  return planAll(wanted, nodes, cluster, existing);
}

/** As planCreate(), in any case. @param existing pools, where they were read */
export async function planAll(
  wanted: NewPools,
  nodes: Node[],
  cluster: ClusterReader,
  existing?: NodePool[],
): Promise<ClusterPlan> {
  const [pools, listed] = await allPermitted([
    existing === undefined ? cluster.pools.listCoerced() : Promise.resolve(existing),
    cluster.nodes.list(),
  ]);
  return planCluster(clusterStateOf(cluster, pools, listed), {
    pools: wanted.pools.map(({ metadata }) => metadata.name),
    specs: wanted.pools.map(asYoungest),
    labels: labelsOf(wanted, nodes),
  });
}

function asYoungest(pool: NodePool): NodePool {
  return { ...pool, metadata: { ...pool.metadata, creationTimestamp: NOT_YET } };
}

function labelsOf({ pools: [pool] }: NewPools, nodes: Node[]): Map<string, LabelPatch> {
  return new Map(pool === undefined ? [] : nodes.map(({ name }) => [name, membershipSelector(pool).labels]));
}
