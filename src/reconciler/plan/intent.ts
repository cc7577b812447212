/** The change that a command requests, and the cluster state after it. */
import { type LabelPatch, patchedLabels } from '../../nodepool/membership/member-labels.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { ClusterState } from '../state/cluster-state.ts';
import type { MembershipChanges } from './membership-change.ts';

/** Without optional fields: apply the pools' labels and taints to their nodes. */
export interface Intent {
  /** Names of pools whose nodes may be written. The name of a deleted pool releases nodes with its record. */
  pools: readonly string[];
  /** Created or edited pools, in their state after the change. */
  specs?: readonly NodePool[];
  /** Labels that nodes get before the pools are reconciled, by node name. */
  labels?: ReadonlyMap<string, LabelPatch>;
  isDeletion?: boolean;
  /** Nodes whose membership changes. Other nodes of a pool that is not deleted are not written. */
  changes?: MembershipChanges;
}

/** A deletionTimestamp; only its presence matters. */
const SOON = '9999-12-31T23:59:59Z';

/** The state after the intent, before its pools are reconciled. */
export function stateAfter(state: ClusterState, { pools, specs, labels, isDeletion = false }: Intent): ClusterState {
  if (specs === undefined && labels === undefined && !isDeletion) return state;
  const deleted = (isDeletion ? pools : []).flatMap(name => state.pool(name) ?? []).map(withDeletionTimestamp);
  const nodes = [...state.nodes()].map(node => {
    const patch = labels?.get(node.name);
    return patch === undefined ? node : { ...node, labels: patchedLabels(node.labels, patch) };
  });
  const all = withPools(state, [...(specs ?? []), ...deleted]);
  return new ClusterState(all, nodes, state.runtimeClasses(), state.rules, state.births);
}

/** The state as if the pools of a deletion had no deletionTimestamp: a pool that has one owns no node. */
export function stateBefore(state: ClusterState, { pools, isDeletion = false }: Intent): ClusterState {
  if (!isDeletion) return state;
  const staying = pools.flatMap(name => state.pool(name) ?? []).map(withoutDeletionTimestamp);
  return new ClusterState(withPools(state, staying), state.nodes(), [], state.rules, state.births);
}

/** Names of the nodes that the intent may change: nodes of the pools before it, and after it. */
export function nodesOf(
  { pools, labels, changes, isDeletion }: Intent,
  before: ClusterState,
  after: ClusterState,
): string[] {
  const changed = changes === undefined ? [] : [...changes.keys()];
  if (changes !== undefined && !isDeletion) return changed;
  const managed = [...new Set([before, after])].flatMap(each => pools.flatMap(pool => each.managedNodes(pool)));
  // Its labels may make a node a member of a pool that is not in the intent.
  const labelled = labels === undefined ? [] : [...labels.keys()];
  return [...new Set([...managed.map(({ name }) => name), ...labelled, ...changed])].toSorted();
}

function withPools(state: ClusterState, pools: readonly NodePool[]): NodePool[] {
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  return [...[...state.pools()].filter(({ metadata }) => !names.has(metadata.name)), ...pools];
}

function withDeletionTimestamp(pool: NodePool): NodePool {
  const { deletionTimestamp = SOON } = pool.metadata;
  return { ...pool, metadata: { ...pool.metadata, deletionTimestamp } };
}

function withoutDeletionTimestamp(pool: NodePool): NodePool {
  const { deletionTimestamp: _marked, ...metadata } = pool.metadata;
  return { ...pool, metadata };
}
