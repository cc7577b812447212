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
  const state = clusterStateOf(cluster, pools, nodes, runtimeClasses);
  await readAnnotations(state, () => cluster.nodes.list());
  return state;
}

/** The named pools or all, with names of gone pools that left records. Throws when a name is neither. */
export function selectPools(command: string, state: ClusterState, names: string[]): string[] {
  const known = state.poolNames();
  const missing = names.filter(name => !known.includes(name));
  if (missing.length > 0) throw poolNotFound(command, missing, { pools: known, node: nodeIn(state) });
  return names.length === 0 ? known : [...new Set(names)];
}

/** Names, sorted: those given, or of the pools that the labels select. Throws where one is not found. */
export function chosenPools(
  command: string,
  names: readonly string[],
  isSelected: MatchLabels | undefined,
  state: ClusterState,
): string[] {
  const pools = [...state.pools()];
  const known = pools.map(({ metadata }) => metadata.name);
  const missing = names.filter(name => !known.includes(name));
  if (missing.length > 0) throw poolNotFound(command, missing, { pools: known, node: nodeIn(state) });
  const matching = pools.filter(({ metadata }) => isSelected?.(metadata.labels ?? {}) ?? true);
  return [...new Set(names.length > 0 ? names : matching.map(({ metadata }) => metadata.name))].toSorted();
}

/** The nodes that one of the selectors matches, and perhaps others. One request at most. */
export async function labelsOfMatching(
  selectors: readonly Selector[],
  { nodeLabels }: Pick<Connection, 'nodeLabels'>,
): Promise<ValueOrRefusal<LabelledNode[]>> {
  // An empty selector matches no node; the server would take it for all.
  const [first, ...more] = selectors.filter(selector => !isEmpty(selector));
  if (first === undefined) return { value: [] };
  // One pool's nodes are fewer than all; of several pools, a list for each would be more.
  return valueOrRefusal(() => nodeLabels(more.length > 0 ? undefined : selectorText(first)));
}
