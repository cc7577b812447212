/** Which pods on a changed node are evicted, and which go on running where the scheduler would not put them again. */

import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import { own } from '../../nodepool/json.ts';
import { evictedAfter } from '../../nodepool/spec/toleration.ts';
import type { Node } from '../../nodepool/types.ts';
import { judgeAffinity, judgeTaints } from '../node/node-rules.ts';
import type { PodTraits } from '../types.ts';
import type { Storage } from '../volumes/storage.ts';
import { areVolumesReachable } from '../volumes/volumes.ts';
import { type ChangedKey, causesOf, changedKeys, type PlannedChange } from './node-keys.ts';
import { recreatedPod } from './recreated.ts';
import type { Eviction, RunningPod } from './types.ts';

/** What becomes of a pod: it is evicted, or `causes` are why the scheduler would not put it there again; none: it would, or would not before. */
export type Fate = { eviction: Eviction } | { causes: readonly ChangedKey[] };

/** What one change does to pods of its node. Most of them have the same placement, and so the same fate. */
export class LeavingPods {
  readonly change: PlannedChange;
  /** In which the node differs. */
  readonly keys: readonly ChangedKey[];
  /** A list: for the few placements on a node, a map takes three times as much. */
  readonly #fates: { placement: PodPlacement; fate: Fate }[] = [];

  constructor(change: PlannedChange) {
    this.change = change;
    this.keys = changedKeys(change);
  }

  fate({ pod, owner }: Pick<RunningPod, 'pod' | 'owner'>, storage: Storage): Fate {
    const { placement, claims, spread, affinity } = pod;
    if (!isScheduled({ owner })) {
      const eviction = this.#eviction(placement);
      return eviction === undefined ? NONE : { eviction };
    }
    const isPlacementAlone = claims.length + spread.length + affinity.length === 0;
    const known = isPlacementAlone ? this.#fates.find(each => each.placement === placement)?.fate : undefined;
    if (known !== undefined) return known;
    const eviction = this.#eviction(placement);
    const fate = eviction === undefined ? { causes: this.#whyNotAgain(pod, storage) } : { eviction };
    if (isPlacementAlone) this.#fates.push({ placement, fate });
    return fate;
  }

  #whyNotAgain(pod: PodTraits, storage: Storage): readonly ChangedKey[] {
    const { before, after } = this.change;
    const recreated = recreatedPod(pod);
    const again = (node: Node) => isTakenBy(node === before ? pod : recreated, node, storage);
    return again(before) && !again(after) ? causesOf(again, this.change, this.keys) : [];
  }

  /** Undefined: the change does not evict it, or not sooner. */
  #eviction({ tolerations }: PodPlacement): Eviction | undefined {
    const due = (node: Node) => evictedAfter(tolerations, node.taints);
    const [before, after] = [due(this.change.before), due(this.change.after)];
    if (after >= before) return undefined;
    // Its taints wait until pods are evicted.
    const { meanwhile } = this.change;
    const isDrained = meanwhile !== undefined;
    const mayReturn = isDrained && judgeTaints(meanwhile, tolerations) === undefined;
    return { seconds: isDrained ? 0 : after, isDrained, mayReturn, causes: causesOf(due, this.change, this.keys) };
  }
}

const NONE: Fate = { causes: [] };

/** By the rules that read labels and taints of the node alone. */
function isTakenBy(pod: PodTraits, node: Node, storage: Storage): boolean {
  if (judgeTaints(node, pod.placement.tolerations) !== undefined) return false;
  if (judgeAffinity(node, pod.placement) !== undefined) return false;
  return hasTopologyKeys(pod, node) && areVolumesReachable(pod, node, storage);
}

/** Without one, the node takes no pod with such a rule, wherever others are. Anti-affinity needs none. */
function hasTopologyKeys({ spread, affinity }: PodTraits, { labels }: Node): boolean {
  return [...spread, ...affinity].every(({ topologyKey }) => own(labels, topologyKey) !== undefined);
}

/** Whether the scheduler places its pods: those of a DaemonSet are bound to their node, those of a Node are static pods. */
export function isScheduled({ owner }: Pick<RunningPod, 'owner'>): boolean {
  return owner?.kind !== 'DaemonSet' && owner?.kind !== 'Node';
}

/** Of the pods on changed nodes, those that are evicted, or that the scheduler would not put on their node again. */
export function movingPods(
  nodes: readonly LeavingPods[],
  pods: ReadonlyMap<string, readonly RunningPod[]>,
  storage: Storage,
): RunningPod[] {
  return nodes.flatMap(leaving => {
    const isMoving = (pod: RunningPod) => {
      const fate = leaving.fate(pod, storage);
      return 'eviction' in fate || fate.causes.length > 0;
    };
    return (pods.get(leaving.change.after.name) ?? []).filter(pod => isScheduled(pod) && isMoving(pod));
  });
}
