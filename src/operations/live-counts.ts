/** The members of each pool, and how many differ from it, by the nodes as they are now. */

import type { NodePool } from '../nodepool/types.ts';
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

export interface LiveCounts {
  nodes: number;
  ready: number;
  cordoned: number;
  /** Members that differ from the labels, taints and annotations of the pool. */
  differing: number;
}

/**
 * By pool, or why it could not be read.
 * @param pools every pool, where they are read already: which node is whose depends on all of them
 */
export function liveCounts(
  cluster: ClusterReader,
  pools?: NodePool[],
): Promise<Attempt<ReadonlyMap<string, LiveCounts>>> {
  return attempt(async () => {
    const reading = pools === undefined ? cluster.pools.listCoerced() : Promise.resolve(pools);
    const [known, nodes] = await allPermitted([reading, cluster.nodes.list()]);
    const state = new ClusterState(known, nodes, []);
    await readAnnotations(state, () => cluster.nodes.list());
    return new Map(known.map(({ metadata: { name } }) => [name, countsOf(state, name)]));
  });
}

function countsOf(state: ClusterState, pool: string): LiveCounts {
  const members = state.members(pool);
  return {
    nodes: members.length,
    ready: members.filter(({ ready }) => ready).length,
    cordoned: members.filter(({ unschedulable }) => unschedulable).length,
    differing: differing(state, pool).length,
  };
}
