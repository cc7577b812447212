/** What a command is to bring about, and the cluster state as it would be then. */
import { type LabelPatch, patchedLabels } from '../nodepool/member-labels.ts';
import type { NodePool } from '../nodepool/types.ts';
import { ClusterState } from './cluster-state.ts';
import type { MembershipChanges } from './membership-change.ts';

/** Without optional fields: the cluster is to become what its pools say. */
export interface Intent {
  /** Names of the pools whose nodes may be written. Names of pools that are gone release what they left on nodes. */
  pools: readonly string[];
  /** Pools as they are to be, in place of those that the cluster has: created or edited. */
  specs?: readonly NodePool[];
  /** Labels that nodes get before the pools are reconciled, by name of the node. */
  labels?: ReadonlyMap<string, LabelPatch>;
  /** The pools are deleted. */
  isDeletion?: boolean;
  /** Nodes whose membership changes. Of a pool that stays, no other node is written. */
  changes?: MembershipChanges;
}

/** Only its presence matters. */
const SOON = '9999-12-31T23:59:59Z';

/** The state once the intent is carried out, before its pools are reconciled. */
export function stateAfter(state: ClusterState, { pools, specs, labels, isDeletion = false }: Intent): ClusterState {
  if (specs === undefined && labels === undefined && !isDeletion) return state;
  const deleted = (isDeletion ? pools : []).flatMap(name => state.pool(name) ?? []).map(marked);
  const nodes = [...state.nodes()].map(node => {
    const patch = labels?.get(node.name);
    return patch === undefined ? node : { ...node, labels: patchedLabels(node.labels, patch) };
  });
  return new ClusterState(withPools(state, [...(specs ?? []), ...deleted]), nodes, state.runtimeClasses());
}

/** The state as if pools that are to be deleted, and may be marked already, were to stay: a marked pool owns no node. */
export function stateBefore(state: ClusterState, { pools, isDeletion = false }: Intent): ClusterState {
  if (!isDeletion) return state;
  const staying = pools.flatMap(name => state.pool(name) ?? []).map(unmarked);
  return new ClusterState(withPools(state, staying), state.nodes(), []);
}

/** Names of the nodes that the intent may change, of which the pools hold some before it and some after it. */
export function nodesOf(
  { pools, labels, changes, isDeletion }: Intent,
  before: ClusterState,
  after: ClusterState,
): string[] {
  const changed = changes === undefined ? [] : [...changes.keys()];
  if (changes !== undefined && !isDeletion) return changed;
  const held = [...new Set([before, after])].flatMap(each => pools.flatMap(pool => each.held(pool)));
  // By its labels a node may come to another pool than those of the intent.
  const labelled = labels === undefined ? [] : [...labels.keys()];
  return [...new Set([...held.map(({ name }) => name), ...labelled, ...changed])].toSorted();
}

function withPools(state: ClusterState, pools: readonly NodePool[]): NodePool[] {
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  return [...[...state.pools()].filter(({ metadata }) => !names.has(metadata.name)), ...pools];
}

function marked(pool: NodePool): NodePool {
  const { deletionTimestamp = SOON } = pool.metadata;
  return { ...pool, metadata: { ...pool.metadata, deletionTimestamp } };
}

function unmarked(pool: NodePool): NodePool {
  const { deletionTimestamp: _marked, ...metadata } = pool.metadata;
  return { ...pool, metadata };
}
