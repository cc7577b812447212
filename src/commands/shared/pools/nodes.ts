/** Nodes with their owner, the values that the pool set, and the changes of the next reconcile. */
import type { ClusterReader } from '../../../kube/cluster.ts';
import { ownValue, setOwn } from '../../../nodepool/json.ts';
import { allChanges, type Change, dueOf } from '../../../nodepool/plan/plan.ts';
import type { AppliedRecord } from '../../../nodepool/plan/record.ts';
import { keptStartupTaints } from '../../../nodepool/plan/startup-taints.ts';
import { isSameTaint, taintFrom } from '../../../nodepool/spec/taints.ts';
import type { Node, Taint } from '../../../nodepool/types.ts';
import { type Blocked, blockedOf } from '../../../reconciler/plan/blocked.ts';
import { nodePlan } from '../../../reconciler/plan/node-plan.ts';
import { type ClusterState, clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../../reconciler/state/unread-annotations.ts';
import { allPermitted } from '../refusals.ts';
import { selectPools } from './load-cluster-state.ts';
import { selectorError } from './not-found.ts';

export interface NodesOptions {
  /** Empty: the members of all pools. */
  pools: string[];
  /** Nodes in no pool, instead of members. */
  unassigned: boolean;
  /** A label selector in the server's syntax. */
  selector: string | undefined;
}

export interface PoolNode {
  node: Node;
  /** The pool that it is a member of; for a leaving node, the pool whose labels and taints it still has. */
  pool: string | undefined;
  leaving: boolean;
  /** Values that the pool set and that are still there. */
  applied: { labels: Record<string, string>; taints: Taint[]; annotations: Record<string, string> };
  /** What the next reconcile would change. */
  changes: Change[];
  /** Why no run changes the node. */
  blocked?: Blocked | undefined;
  /** Other pools that match the node but do not own it. */
  conflicting: readonly string[];
}

export interface ListedNodes {
  nodes: PoolNode[];
  /** For each other pool, the number of its nodes that also match one of the chosen pools. */
  ownedByOthers: ReadonlyMap<string, number>;
}

interface NodesDeps {
  cluster: ClusterReader;
}

/** By name, as the server lists them. Throws if a pool does not exist or the selector is invalid. */
export async function listNodes(
  { pools, unassigned, selector }: NodesOptions,
  { cluster }: NodesDeps,
): Promise<ListedNodes> {
  const [known, nodes] = await allPermitted([cluster.pools.listCoerced(), selectNodes(selector, cluster)]);
  const state = clusterStateOf(cluster, known, nodes);
  const wanted = new Set(selectPools('nodes', state, pools));
  await readAnnotations(state, () => selectNodes(selector, cluster));
  const all = nodes.map(node => poolNodeOf(state, state.node(node.name) ?? node));
  const found = all.filter(node => isListed(node, unassigned, wanted));
  const ownedByOthers = new Map<string, number>();
  for (const { pool, conflicting } of pools.length === 0 ? [] : all) {
    if (pool === undefined || wanted.has(pool) || !conflicting.some(name => wanted.has(name))) continue;
    ownedByOthers.set(pool, (ownedByOthers.get(pool) ?? 0) + 1);
  }
  return { nodes: found, ownedByOthers };
}

export async function selectNodes(selector: string | undefined, cluster: NodesDeps['cluster']): Promise<Node[]> {
  try {
    return await cluster.nodes.list(selector);
  } catch (error) {
    throw selector === undefined ? error : selectorError(error, '-l', selector);
  }
}

const NOTHING_APPLIED: PoolNode['applied'] = { labels: {}, taints: [], annotations: {} };

/** @param wanted names of pools; undefined: every pool */
export function isListed({ pool }: PoolNode, unassigned: boolean, wanted?: ReadonlySet<string>): boolean {
  return unassigned ? pool === undefined : pool !== undefined && (wanted?.has(pool) ?? true);
}

export function poolNodeOf(state: ClusterState, node: Node): PoolNode {
  const ownership = state.ownership(node.name);
  const record = ownership?.record;
  const pool = ownership?.owner ?? record?.pool;
  const plan = nodePlan(state, node.name);
  return {
    node,
    pool,
    leaving: record !== undefined && ownership?.owner === undefined,
    // The record of a node that has just changed pools may still be the other pool's.
    applied: record === undefined || record.pool !== pool ? NOTHING_APPLIED : appliedTo(node, record),
    changes: allChanges(dueOf(plan)),
    blocked: blockedOf(state, plan),
    conflicting: ownership?.conflicting ?? [],
  };
}

function appliedTo(node: Node, record: AppliedRecord): PoolNode['applied'] {
  const found: PoolNode['applied'] = {
    labels: stillThere(record.labels, node.labels),
    taints: [],
    annotations: stillThere(record.annotations, node.annotations ?? {}),
  };
  for (const [id, { value }] of record.taints) {
    if (value === null) continue;
    const taint = taintFrom(id, value);
    if (node.taints.some(live => isSameTaint(live, taint))) found.taints.push(taint);
  }
  found.taints.push(...keptStartupTaints(node, record));
  return found;
}

function stillThere(applied: AppliedRecord['labels'], live: Record<string, string>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, { value }] of applied)
    if (value !== null && ownValue(live, key) === value) setOwn(found, key, value);
  return found;
}
