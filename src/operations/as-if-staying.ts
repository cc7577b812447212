import type { Node, NodePool } from '../nodepool/types.ts';
import { View } from '../reconciler/view.ts';

/** These pools and their nodes as they were before: one that is marked for deletion owns no node any more. */
export function asIfStaying(view: View, deleted: ReadonlySet<string>): View {
  const unmarked = (pool: NodePool): NodePool => {
    const { deletionTimestamp: _marked, ...metadata } = pool.metadata;
    return { ...pool, metadata };
  };
  const pools = [...view.pools()].map(pool => (deleted.has(pool.metadata.name) ? unmarked(pool) : pool));
  const nodes = new Set<Node>();
  for (const name of deleted) {
    const pool = view.pool(name);
    for (const node of view.held(name)) nodes.add(node);
    if (pool !== undefined) for (const node of view.matching(pool)) nodes.add(node);
  }
  return new View(pools, nodes, []);
}
