import type { ClusterReader } from '../../../kube/connection.ts';
import type { Node, NodePool } from '../../../nodepool/types.ts';
import { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { poolNotFound } from '../pools/not-found.ts';
import { allPermitted } from '../pools/permitted.ts';

/** The members of each pool, by name. @param command for the next step. Throws when one of the pools does not exist. */
export async function poolMembers(
  command: string,
  names: readonly string[],
  cluster: ClusterReader,
): Promise<Map<string, Node[]>> {
  return (await readMembers(command, names, cluster)).members;
}

/** As poolMembers(), with the pools, all nodes of the cluster, and the owner of a node that was read later. */
export async function readMembers(
  command: string,
  names: readonly string[],
  cluster: ClusterReader,
): Promise<{
  members: Map<string, Node[]>;
  nodes: Node[];
  pools: NodePool[];
  ownerOf: (node: Node) => string | undefined;
}> {
  const [all, nodes] = await allPermitted([cluster.pools.listCoerced(), cluster.nodes.list()]);
  const state = new ClusterState(all, nodes, []);
  const missing = names.filter(name => state.pool(name) === undefined);
  if (missing.length > 0) {
    const known = all.map(({ metadata }) => metadata.name);
    throw poolNotFound(command, missing, { pools: known, node: name => state.ownership(name) });
  }
  const byName = (a: Node, b: Node) => (a.name < b.name ? -1 : 1);
  const members = new Map(names.map(name => [name, state.members(name).sort(byName)]));
  const pools = all.filter(({ metadata }) => members.has(metadata.name));
  return { members, nodes, pools, ownerOf: node => state.poolIndex.ownership(node).owner };
}
