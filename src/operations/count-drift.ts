/** How many members of each pool differ from its labels and taints, by the nodes as they are now. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePool } from '../nodepool/types.ts';
import { ClusterState } from '../reconciler/cluster-state.ts';
import { differing } from '../reconciler/node-plan.ts';
import type { ClusterReader } from './ports.ts';

/** By pool, or why it could not be read. */
export type DriftCounts = { counts: ReadonlyMap<string, number> } | { refusal: NodepoolError };

/** @param pools every pool, where they are read already: which node is whose depends on all of them */
export async function countDrift(cluster: ClusterReader, pools?: Promise<NodePool[]>): Promise<DriftCounts> {
  try {
    const [known, nodes] = await Promise.all([pools ?? cluster.pools.listCoerced(), cluster.nodes.list()]);
    const state = new ClusterState(known, nodes, []);
    return { counts: new Map(known.map(({ metadata: { name } }) => [name, differing(state, name).length])) };
  } catch (error) {
    if (error instanceof NodepoolError) return { refusal: error };
    throw error;
  }
}
