/** What an edit of a pool would do to its nodes. */

import { coercePool } from '../nodepool/coerce.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import type { NodePool } from '../nodepool/types.ts';
import { validatePool } from '../nodepool/validation.ts';
import { type ClusterPlan, planCluster } from '../reconciler/cluster-plan.ts';
import { ClusterState } from '../reconciler/cluster-state.ts';
import { noExecuteOf } from '../reconciler/node-plan.ts';
import { NO_CHANGE } from './consent.ts';
import { allPermitted } from './permitted.ts';
import type { ClusterReader } from './ports.ts';

/**
 * Of what a reconcile of the edited pool would do, the nodes that get a NoExecute taint by the edit. Pools and nodes are
 * read only where it touches what decides on that.
 */
export async function planEdit(before: NodePool, after: NodePool, cluster: ClusterReader): Promise<ClusterPlan> {
  const [was, is] = [coercePool(before), coercePool(after)];
  if (deepEqual(deciding(was), deciding(is))) return NO_CHANGE;
  const [pools, nodes] = await allPermitted([cluster.pools.listCoerced(), cluster.nodes.list()]);
  const state = new ClusterState(pools, nodes, []);
  const named = [after.metadata.name];
  const due = noExecuteOf(planCluster(state, { pools: named }).nodes);
  const plan = planCluster(state, { pools: named, specs: [is] });
  return { ...plan, nodes: plan.nodes.filter(node => [...noExecuteOf([node])].some(taint => !due.has(taint))) };
}

/** A member stays the pool's whatever labels that sets; an invalid pool keeps its nodes as they are. */
function deciding(pool: NodePool): object {
  const { taints = [], nodeSelector, unmanaged = 'Keep' } = pool.spec;
  const isValid = validatePool(pool).length === 0;
  return { taints: taints.filter(({ effect }) => effect === 'NoExecute'), nodeSelector, unmanaged, isValid };
}
