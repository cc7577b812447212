import type { NodePoolsClient, NodesClient } from '../../../kube/cluster.ts';
import { type Explanation, explain } from '../../../nodepool/membership/explain.ts';
import { PoolIndex } from '../../../nodepool/membership/membership.ts';
import { nodesNotFound } from '../pools/not-found.ts';
import { allPermitted } from '../pools/permitted.ts';

/** Why the node is, or is not, in each pool. Throws when there is no such node. */
export async function whyNode(
  name: string,
  { cluster }: { cluster: { pools: Pick<NodePoolsClient, 'listCoerced'>; nodes: Pick<NodesClient, 'get'> } },
): Promise<Explanation> {
  const [pools, node] = await allPermitted([cluster.pools.listCoerced(), cluster.nodes.get(name)]);
  if (node === undefined) throw nodesNotFound([name]);
  const index = new PoolIndex(pools, [node]);
  return explain(node, pools, index.ownership(node), pool => index.errors(pool));
}
