/** Which pods on a changed node are evicted, and which go on running where the scheduler would not put them again. */
import { evictedAfter } from '../../nodepool/toleration.ts';
import type { Node } from '../../nodepool/types.ts';
import { isReachable } from '../choose-volume.ts';
import { judgeAffinity, judgeTaints } from '../node-rules.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Storage } from '../storage.ts';
import type { Pod } from '../types.ts';
import { type ChangedKey, causesOf, type NodeChange } from './node-keys.ts';
import type { OpenNodes } from './open-nodes.ts';
import type { RunningPod } from './types.ts';

export interface EvictedPod {
  running: RunningPod;
  /** After the change. */
  seconds: number;
  /** By the Eviction API, which asks budgets. */
  isDrained: boolean;
  causes: readonly ChangedKey[];
}

/** Undefined: the change does not evict it, or not sooner. @param isDrained the taints wait until it is evicted */
export function evictionOf(
  running: RunningPod,
  change: NodeChange,
  keys: readonly ChangedKey[],
  isDrained: boolean,
): EvictedPod | undefined {
  const { tolerations } = running.pod.placement;
  const due = (node: Node) => evictedAfter(tolerations, node.taints);
  const [before, after] = [due(change.before), due(change.after)];
  if (after >= before) return undefined;
  return { running, seconds: isDrained ? 0 : after, isDrained, causes: causesOf(due, change, keys) };
}

/** The keys because of which the scheduler would not put the pod on its node again; none: it would, or would not before. */
export function whyNotAgain(
  { pod }: RunningPod,
  change: NodeChange,
  keys: readonly ChangedKey[],
  storage: Storage,
): readonly ChangedKey[] {
  const again = (node: Node) => isTakenBy(pod, node, storage);
  return again(change.before) && !again(change.after) ? causesOf(again, change, keys) : [];
}

/** By the rules that read labels and taints of the node alone. */
function isTakenBy(pod: Pod, node: Node, storage: Storage): boolean {
  if (judgeTaints(node, pod.placement.tolerations) !== undefined) return false;
  if (judgeAffinity(node, pod.placement) !== undefined) return false;
  return areVolumesReachable(pod, node, storage);
}

/** Whether no node of the cluster would take the pod, whatever room there is. @param open of that snapshot */
export function hasNoNode({ pod }: RunningPod, snapshot: Snapshot, open: OpenNodes): boolean {
  const { nodes, returns } = open.to(pod.placement);
  if (pod.claims.length === 0) return nodes.length + returns.length === 0;
  return ![...nodes, ...returns].some(name => {
    const state = snapshot.nodes.get(name);
    return state !== undefined && areVolumesReachable(pod, state.node, snapshot.storage);
  });
}

function areVolumesReachable(pod: Pod, node: Node, storage: Storage): boolean {
  return pod.claims.every(({ name }) => {
    const claim = storage.claims.get(`${pod.namespace}/${name}`);
    return isReachable(storage.volumes.get(claim?.volumeName ?? '')?.nodeTerms, node);
  });
}
