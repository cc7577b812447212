import type { ClusterPort } from '../../../kube/cluster.ts';
import type { Connection } from '../../../kube/connect.ts';
import type { LabelledNode } from '../../../kube/resources/nodes.ts';
import type { MatchLabels } from '../../../nodepool/membership/label-selector.ts';
import { isEmpty, type Selector, selectorText } from '../../../nodepool/membership/selector.ts';
import type { RuntimeClass } from '../../../nodepool/types.ts';
import { type ClusterState, clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../../reconciler/state/unread-annotations.ts';
import { allPermitted, type ValueOrRefusal, valueOrRefusal } from '../refusals.ts';
import { nodeIn } from './node-names.ts';
import { poolNotFound } from './not-found.ts';

/** Reads everything that the reconciler needs, at once. Leaves out unused node conditions and quantities. */
export async function loadClusterState(
  cluster: ClusterPort,
  readRuntimeClasses: Promise<RuntimeClass[]> = cluster.runtimeClasses.list(),
): Promise<ClusterState> {
  const [pools, nodes, runtimeClasses] = await allPermitted([
    cluster.pools.listCoerced(),
    cluster.nodes.list(),
    readRuntimeClasses,
  ]);
  const state = clusterStateOf(cluster, pools, nodes, runtimeClasses);
  await readAnnotations(state, () => cluster.nodes.list());
  return state;
}

/** The named pools or all, including deleted pools with records on nodes. Throws if a name is neither. */
export function selectPools(command: string, state: ClusterState, names: string[]): string[] {
  const known = state.poolNames();
  return names.length === 0 ? known : knownNames(command, names, known, state);
}

/** Sorted names: the given ones, or those of pools that the labels select. Throws if one is not found. */
export function selectExistingPools(
  command: string,
  names: readonly string[],
  isSelected: MatchLabels | undefined,
  state: ClusterState,
): string[] {
  const pools = [...state.pools()];
  const known = pools.map(({ metadata }) => metadata.name);
  if (names.length > 0) return knownNames(command, names, known, state).toSorted();
  const matching = pools.filter(({ metadata }) => isSelected?.(metadata.labels ?? {}) ?? true);
  return matching.map(({ metadata }) => metadata.name).toSorted();
}

function knownNames(command: string, names: readonly string[], known: string[], state: ClusterState): string[] {
  const missing = names.filter(name => !known.includes(name));
  if (missing.length > 0) throw poolNotFound(command, missing, { pools: known, node: nodeIn(state) });
  return [...new Set(names)];
}

/** Nodes that any of the selectors matches, and possibly others. Sends at most one request. */
export async function labelsOfMatching(
  selectors: readonly Selector[],
  { nodeLabels }: Pick<Connection, 'nodeLabels'>,
): Promise<ValueOrRefusal<LabelledNode[]>> {
  // An empty selector matches no node here, but all nodes on the server.
  const [first, ...more] = selectors.filter(selector => !isEmpty(selector));
  if (first === undefined) return { value: [] };
  // For one pool, only its nodes are listed; for several pools, one list of all nodes costs less than one list each.
  return valueOrRefusal(() => nodeLabels(more.length > 0 ? undefined : selectorText(first)));
}
