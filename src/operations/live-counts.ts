/** The members of each pool, and how many differ from it, by the nodes as they are now. */

import { defined } from '../nodepool/json.ts';
import { computeStatus } from '../nodepool/status.ts';
import type { NodePool, NodePoolStatus } from '../nodepool/types.ts';
import { ClusterState } from '../reconciler/cluster-state.ts';
import { differing } from '../reconciler/node-plan.ts';
import { readAnnotations } from '../reconciler/unread-annotations.ts';
import { type Attempt, attempt } from './attempt.ts';
import { allPermitted } from './permitted.ts';
import type { ClusterReader } from './ports.ts';

/** Nodes of the pool differed when its present spec was last reconciled. */
export function saysDrift({ metadata, status }: NodePool): boolean {
  if (status?.updatedNodeCount === undefined || status.observedGeneration !== metadata.generation) return false;
  return status.updatedNodeCount < status.nodeCount;
}

type Counts = Pick<
  NodePoolStatus,
  'nodeCount' | 'readyNodeCount' | 'unschedulableNodeCount' | 'updatedNodeCount' | 'allocatable'
>;

/**
 * What the status of each pool would say of its nodes now; or why they could not be read.
 * @param pools every pool, where they are read already: which node is whose depends on all of them
 */
export function liveCounts(cluster: ClusterReader, pools?: NodePool[]): Promise<Attempt<ReadonlyMap<string, Counts>>> {
  return attempt(async () => {
    const reading = pools === undefined ? cluster.pools.listCoerced() : Promise.resolve(pools);
    const [known, nodes] = await allPermitted([reading, cluster.nodes.list()]);
    const state = new ClusterState(known, nodes, []);
    await readAnnotations(state, () => cluster.nodes.list());
    return new Map(known.map(pool => [pool.metadata.name, countsOf(state, pool)]));
  });
}

/** The pool with these counts in its status; one that was never reconciled stays as it is. */
export function withCounts<P extends { status?: NodePoolStatus }>(pool: P, counts: Counts | undefined): P {
  if (pool.status?.nodeCount === undefined || counts === undefined) return pool;
  return { ...pool, status: { ...pool.status, ...counts } };
}

function countsOf(state: ClusterState, pool: NodePool): Counts {
  const { name } = pool.metadata;
  const observed = { specErrors: [], conflicts: [], failures: [], podCount: undefined };
  const members = state.members(name);
  const { nodeCount, readyNodeCount, unschedulableNodeCount, updatedNodeCount, allocatable } = computeStatus(
    pool,
    { ...observed, members, differing: differing(state, name) },
    '',
  );
  return defined({ nodeCount, readyNodeCount, unschedulableNodeCount, updatedNodeCount, allocatable });
}
