/** How many members of each pool differ from its labels and taints, by the nodes as they are now. */

import type { NodePool } from '../nodepool/types.ts';
import { ClusterState } from '../reconciler/cluster-state.ts';
import { differing } from '../reconciler/node-plan.ts';
import { type Attempt, attempt } from './attempt.ts';
import { allPermitted } from './permitted.ts';
import type { ClusterReader } from './ports.ts';

/**
 * By pool, or why it could not be read.
 * @param pools every pool, where they are read already: which node is whose depends on all of them
 */
export function countDrift(
  cluster: ClusterReader,
  pools?: Promise<NodePool[]>,
): Promise<Attempt<ReadonlyMap<string, number>>> {
  return attempt(async () => {
    const [known, nodes] = await allPermitted([pools ?? cluster.pools.listCoerced(), cluster.nodes.list()]);
    const state = new ClusterState(known, nodes, []);
    return new Map(known.map(({ metadata: { name } }) => [name, differing(state, name).length]));
  });
}
