import { collectGarbage } from '../../../controller/collect.ts';
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { RuntimeClass } from '../../../nodepool/types.ts';
import { type ClusterState, clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../../reconciler/state/unread-annotations.ts';
import { allPermitted } from '../attempt.ts';
import { poolNotFound } from './not-found.ts';

/** Everything that the reconciler reads, at once. Node conditions and quantities only as far as they are used. */
export async function loadClusterState(
  cluster: ClusterPort,
  readRuntimeClasses: Promise<RuntimeClass[]> = cluster.runtimeClasses.list(),
): Promise<ClusterState> {
  const [pools, nodes, runtimeClasses] = await allPermitted([
    cluster.pools.listCoerced(),
    cluster.nodes.list(),
    readRuntimeClasses,
  ]);
  // What the reading left behind would stand beside what the planning needs: see src/controller/collect.ts.
  collectGarbage();
  const state = clusterStateOf(cluster, pools, nodes, runtimeClasses);
  await readAnnotations(state, () => cluster.nodes.list());
  return state;
}

/**
 * The pools to act on: the named ones, or all, with the names of gone pools that left records on nodes.
 * Throws when a name is neither.
 * @param command for the next step
 */
export function selectPools(command: string, state: ClusterState, names: string[]): string[] {
  const known = state.poolNames();
  const missing = names.filter(name => !known.includes(name));
  if (missing.length > 0) throw poolNotFound(command, missing, { pools: known, node: name => state.ownership(name) });
  return names.length === 0 ? known : [...new Set(names)];
}
