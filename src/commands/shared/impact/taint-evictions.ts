/** Which pods are evicted when NoExecute taints are added to their nodes. */
import type { PlacedPod, PodsPort } from '../../../kube/resources/pods.ts';
import type { DuePlan } from '../../../nodepool/plan/plan.ts';
import { arrivingNoExecute, evictedAfter } from '../../../nodepool/spec/taints.ts';
import type { NodePool, Taint } from '../../../nodepool/types.ts';

export interface NodeEvictions {
  node: string;
  taints: Taint[];
  /** `namespace/name`, sorted. */
  now: string[];
  /** Pods that tolerate the taint for a while. Empty on a node that is drained, where these pods are evicted too. */
  later: { pod: string; seconds: number }[];
}

export interface EvictionPreview {
  /** Nodes that lose pods, sorted by name. */
  nodes: NodeEvictions[];
  now: number;
  later: number;
  /** Number of nodes in pools with `noExecute: Drain`. */
  drained: number;
  /** Totals over all nodes. */
  ofDaemonSets: number;
  withoutController: number;
  ended: number;
  /** What an approval covers in addition to the taints, in the format of coversOf(). */
  covers: string[];
}

/** The current node, and its future taints. */
export type TaintPlan = Pick<DuePlan, 'node' | 'patch' | 'drain'>;

/** Ignores pods that current taints already evict. Undefined if none is evicted. Reads pods only for NoExecute. */
export async function previewEvictions(
  plans: readonly TaintPlan[],
  pods: Pick<PodsPort, 'placedOn'>,
): Promise<EvictionPreview | undefined> {
  const arriving = new Map<string, { before: Taint[]; after: Taint[]; taints: Taint[]; isDrained: boolean }>();
  for (const { node, patch, drain } of plans) {
    const [before, waiting] = [node.taints, drain?.taints ?? []];
    const after = [...(patch?.taints ?? before), ...waiting];
    const taints = arrivingNoExecute(before, after);
    if (taints.length > 0) arriving.set(node.name, { before, after, taints, isDrained: waiting.length > 0 });
  }
  if (arriving.size === 0) return undefined;
  const byNode = Map.groupBy(await pods.placedOn([...arriving.keys()]), pod => pod.node);
  const nodes: NodeEvictions[] = [];
  const gone: { pod: PlacedPod; seconds: number }[] = [];
  for (const [node, { before, after, taints, isDrained }] of arriving) {
    const found: NodeEvictions = { node, taints, now: [], later: [] };
    for (const pod of byNode.get(node) ?? []) {
      const evictedSeconds = evictedAfter(pod.tolerations, after);
      const seconds = isDrained && evictedSeconds < Infinity ? 0 : evictedSeconds;
      if (seconds >= evictedAfter(pod.tolerations, before)) continue;
      gone.push({ pod, seconds });
      const name = `${pod.namespace}/${pod.name}`;
      if (seconds === 0) found.now.push(name);
      else found.later.push({ pod: name, seconds });
    }
    found.now.sort();
    found.later.sort((a, b) => a.seconds - b.seconds || (a.pod < b.pod ? -1 : 1));
    if (found.now.length + found.later.length > 0) nodes.push(found);
  }
  if (nodes.length === 0) return undefined;
  const count = (which: (pod: PlacedPod) => boolean) => gone.filter(({ pod }) => which(pod)).length;
  return {
    nodes: nodes.toSorted((a, b) => (a.node < b.node ? -1 : 1)),
    now: nodes.reduce((sum, { now }) => sum + now.length, 0),
    later: nodes.reduce((sum, { later }) => sum + later.length, 0),
    drained: nodes.filter(({ node }) => arriving.get(node)?.isDrained).length,
    ofDaemonSets: count(pod => pod.controller?.kind === 'DaemonSet'),
    withoutController: count(pod => pod.controller === undefined && !pod.hasEnded),
    ended: count(pod => pod.hasEnded),
    covers: coversOf(gone),
  };
}

/**
 * A key for each pod and its eviction time. Pods of one controller on one node are numbered: a replaced pod keeps the
 * key, an additional pod gets a new one. A pod without a controller is identified by its UID.
 */
function coversOf(gone: readonly { pod: PlacedPod; seconds: number }[]): string[] {
  const counts = new Map<string, number>();
  return gone.map(({ pod: { node, namespace, name, uid, controller }, seconds }) => {
    const when = seconds === 0 ? '' : ` after ${seconds}s`;
    if (controller === undefined) return `${node} ${namespace}/${name} ${uid}${when}`;
    const alike = `${node} ${namespace} ${controller.kind} ${controller.name}${when}`;
    const at = (counts.get(alike) ?? 0) + 1;
    counts.set(alike, at);
    return `${alike} #${at}`;
  });
}

/** Whether these pools can set or restore NoExecute taints; if not, nodes need not be read. @param specs planned */
export function mayEvict(pools: readonly NodePool[], specs: readonly NodePool[] = []): boolean {
  const removesUnmanaged = ({ spec }: NodePool) => spec.unmanaged === 'Remove';
  return [...pools, ...specs].some(pool => hasNoExecute(pool) || removesUnmanaged(pool)) || pools.some(hasEarlierSpec);
}

/** An earlier spec, still applied to some nodes, may have had NoExecute taints that replaced those of others. */
function hasEarlierSpec({ metadata: { generation = 2 }, status }: NodePool): boolean {
  const isApplied = status?.conditions?.some(
    ({ type, status: value, observedGeneration }) =>
      type === 'Applied' && value === 'True' && observedGeneration === generation,
  );
  return generation > 1 && isApplied !== true;
}

function hasNoExecute(pool: Pick<NodePool, 'spec'>): boolean {
  const { taints = [], startupTaints = [] } = pool.spec;
  return [...taints, ...startupTaints].some(({ effect }) => effect === NO_EXECUTE);
}

const NO_EXECUTE = 'NoExecute';
