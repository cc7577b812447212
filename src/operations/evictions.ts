/** Which pods go when taints with the effect NoExecute arrive on their nodes. */

import { type LabelPatch, patchedLabels } from '../nodepool/member-labels.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import type { NodePlan } from '../nodepool/plan.ts';
import { soundPool } from '../nodepool/sound.ts';
import { arrivingNoExecute, evictedAfter } from '../nodepool/toleration.ts';
import type { NodePool, Taint } from '../nodepool/types.ts';
import { planOf } from '../reconciler/node-plan.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { View } from '../reconciler/view.ts';
import { asIfStaying } from './as-if-staying.ts';
import type { NodeAccess, PlacedPod } from './node-access-port.ts';

export interface NodeEvictions {
  node: string;
  /** Those that arrive. */
  taints: Taint[];
  /** `namespace/name`, in order. */
  now: string[];
  /** They tolerate it for a while. */
  later: { pod: string; seconds: number }[];
}

export interface EvictionPreview {
  /** Nodes that lose pods, by name. */
  nodes: NodeEvictions[];
  now: number;
  later: number;
  /** Of both together. */
  ofDaemonSets: number;
  withoutController: number;
  ended: number;
}

/** What a taint brings about, as planned: the node as it is, and the taints that it is to have. */
export type TaintPlan = Pick<NodePlan, 'node' | 'patch'>;

/**
 * The plans by which a taint with NoExecute arrives. Pods that are evicted by what the node has already, and as soon,
 * are not counted. Undefined when no pod goes. Pods are read only when a taint arrives.
 */
export async function previewEvictions(
  plans: readonly TaintPlan[],
  access: Pick<NodeAccess, 'podsOn'>,
): Promise<EvictionPreview | undefined> {
  const arriving = new Map<string, { before: Taint[]; after: Taint[]; taints: Taint[] }>();
  for (const { node, patch } of plans) {
    const after = patch?.taints;
    const taints = after === undefined ? [] : arrivingNoExecute(node.taints, after);
    if (after !== undefined && taints.length > 0) arriving.set(node.name, { before: node.taints, after, taints });
  }
  if (arriving.size === 0) return undefined;
  const byNode = Map.groupBy(await access.podsOn([...arriving.keys()]), pod => pod.node);
  const nodes: NodeEvictions[] = [];
  const gone: PlacedPod[] = [];
  for (const [node, { before, after, taints }] of arriving) {
    const found: NodeEvictions = { node, taints, now: [], later: [] };
    for (const pod of byNode.get(node) ?? []) {
      const seconds = evictedAfter(pod.tolerations, after);
      if (seconds >= evictedAfter(pod.tolerations, before)) continue;
      gone.push(pod);
      const name = `${pod.namespace}/${pod.name}`;
      if (seconds === 0) found.now.push(name);
      else found.later.push({ pod: name, seconds });
    }
    found.now.sort();
    found.later.sort((a, b) => a.seconds - b.seconds || (a.pod < b.pod ? -1 : 1));
    if (found.now.length + found.later.length > 0) nodes.push(found);
  }
  if (nodes.length === 0) return undefined;
  const count = (which: (pod: PlacedPod) => boolean) => gone.filter(which).length;
  return {
    nodes: nodes.toSorted((a, b) => (a.node < b.node ? -1 : 1)),
    now: nodes.reduce((sum, { now }) => sum + now.length, 0),
    later: nodes.reduce((sum, { later }) => sum + later.length, 0),
    ofDaemonSets: count(pod => pod.controller === 'DaemonSet'),
    withoutController: count(pod => pod.controller === undefined && !pod.hasEnded),
    ended: count(pod => pod.hasEnded),
  };
}

/** The plans of a reconcile of these pools that may bring a taint with NoExecute: all others cannot. */
export function noExecutePlans(view: View, pools: readonly string[]): TaintPlan[] {
  return plansFor(heldBy(view, pools), view);
}

function heldBy(view: View, pools: readonly string[]): string[] {
  return [...new Set(pools.flatMap(pool => view.held(pool).map(({ name }) => name)))];
}

function plansFor(nodes: readonly string[], view: View): TaintPlan[] {
  const isAny = [...view.pools()].some(hasNoExecute);
  return nodes.flatMap(name => {
    // A record that speaks of such a taint may have displaced one, which comes back when its pool lets go.
    const may = isAny || view.node(name)?.record?.includes(NO_EXECUTE);
    const plan = may ? planOf(view, name) : undefined;
    return plan?.patch?.taints?.some(({ effect }) => effect === NO_EXECUTE) ? [plan] : [];
  });
}

/**
 * The same were these the pools, and were these labels on the nodes: what is about to be written is not there yet.
 * @param pools that are new or changed
 */
export async function noExecutePlansWith(
  pools: readonly NodePool[],
  labels: ReadonlyMap<string, LabelPatch>,
  cluster: ClusterPort,
): Promise<TaintPlan[]> {
  const [existing, nodes] = await Promise.all([cluster.listPools(), cluster.listNodes()]);
  const names = pools.map(({ metadata }) => metadata.name);
  const others = existing.filter(({ metadata }) => !names.includes(metadata.name));
  const labelled = nodes.map(node => {
    const patch = labels.get(node.name);
    return patch === undefined ? node : { ...node, labels: patchedLabels(node.labels, patch) };
  });
  return noExecutePlans(new View([...others, ...pools], labelled, []), names);
}

/**
 * Those that an edit of a pool brings about. Nothing is read unless it touches such taints, or what else decides which
 * nodes have one: a value that the pool displaced, or stripped, comes back when it lets go.
 */
export async function editPlans(before: NodePool, after: NodePool, cluster: ClusterPort): Promise<TaintPlan[]> {
  const [was, is] = [soundPool(before), soundPool(after)];
  return deepEqual(deciding(was), deciding(is)) ? [] : noExecutePlansWith([is], new Map(), cluster);
}

function deciding({ spec: { taints = [], nodeSelector, unmanaged = 'Keep' } }: NodePool): object {
  return { taints: taints.filter(({ effect }) => effect === NO_EXECUTE), nodeSelector, unmanaged };
}

/**
 * Those of a deletion: what these pools displaced comes back, and another pool may get their nodes. Nodes are read only
 * where that may bring such a taint. They are not what is released then: until the pools are marked, others may give
 * them more nodes, so those are read anew.
 */
export async function deletionPlans(pools: readonly string[], cluster: ClusterPort): Promise<TaintPlan[]> {
  const existing = await cluster.listPools();
  const own = existing.filter(({ metadata }) => pools.includes(metadata.name));
  // One that is gone meanwhile cannot say.
  const mayReturn = own.length < pools.length || own.some(mayHaveDisplaced);
  if (!mayReturn && !existing.some(hasNoExecute)) return [];
  return releasePlans(new View(existing, await cluster.listNodes(), []), pools);
}

/** A pool that has no such taint may have stripped one, or had one in a spec that not all nodes have left behind. */
function mayHaveDisplaced({ spec, metadata, status }: NodePool): boolean {
  const isApplied = status?.conditions?.some(
    ({ type, status: value, observedGeneration }) =>
      type === 'Applied' && value === 'True' && observedGeneration === metadata.generation,
  );
  return spec.unmanaged === 'Remove' || isApplied !== true;
}

/** The same of a view; pools that are gone already may be among them. */
export function releasePlans(view: View, pools: readonly string[]): TaintPlan[] {
  const released = new Set(pools);
  const after = [...view.pools()].map(pool => (released.has(pool.metadata.name) ? onItsWayOut(pool) : pool));
  // Nodes that never got anything of these pools are among them: another pool may have much to give. Pools that are marked
  // already, by a deletion that was stopped, own none in the view.
  return plansFor(heldBy(asIfStaying(view, released), pools), new View(after, view.nodes(), []));
}

function onItsWayOut(pool: NodePool): NodePool {
  return { ...pool, metadata: { ...pool.metadata, deletionTimestamp: pool.metadata.deletionTimestamp ?? SOON } };
}

export function hasNoExecute(pool: Pick<NodePool, 'spec'> | undefined): boolean {
  return pool?.spec.taints?.some(({ effect }) => effect === NO_EXECUTE) ?? false;
}

/**
 * Told what is about to happen to nodes, before anything is written; throws when it is not to be.
 * @param read gives the plans; what cannot be read is the user's to decide on
 */
export type Approve = (read: () => Promise<readonly TaintPlan[]>) => Promise<void>;

const NO_EXECUTE = 'NoExecute';
/** That it is there says all: nobody looks at when. */
const SOON = '9999-12-31T23:59:59Z';
