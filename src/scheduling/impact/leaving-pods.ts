/** Which pods on a changed node are evicted, and which go on running where the scheduler would not put them again. */
import { own } from '../../nodepool/json.ts';
import type { PodPlacement } from '../../nodepool/placement.ts';
import { evictedAfter } from '../../nodepool/toleration.ts';
import type { Node } from '../../nodepool/types.ts';
import { judgeAffinity, judgeTaints } from '../node-rules.ts';
import type { Storage } from '../storage.ts';
import type { Pod } from '../types.ts';
import { isWithin } from '../volume-place.ts';
import { type ChangedKey, causesOf, changedKeys, type NodeChange, type PlannedChange } from './node-keys.ts';
import type { RunningPod } from './types.ts';

export interface EvictedPod extends RunningPod {
  /** After the change. */
  seconds: number;
  /** By the Eviction API, which asks budgets. */
  isDrained: boolean;
  causes: readonly ChangedKey[];
}

type Eviction = Pick<EvictedPod, 'seconds' | 'isDrained' | 'causes'>;

/** What one change does to pods of its node. Most of them have the same placement, and so the same answer. */
export class LeavingPods {
  readonly #change: NodeChange;
  readonly #keys: readonly ChangedKey[];
  readonly #isDrained: boolean;
  readonly #storage: Storage;
  readonly #evictions = new Map<PodPlacement, Eviction | undefined>();
  readonly #causes = new Map<PodPlacement, readonly ChangedKey[]>();

  /** @param isDrained the taints wait until pods are evicted */
  constructor(change: NodeChange, keys: readonly ChangedKey[], isDrained: boolean, storage: Storage) {
    this.#change = change;
    this.#keys = keys;
    this.#isDrained = isDrained;
    this.#storage = storage;
  }

  /** Undefined: the change does not evict it, or not sooner. */
  eviction({ pod: { placement } }: RunningPod): Eviction | undefined {
    if (this.#evictions.has(placement)) return this.#evictions.get(placement);
    const eviction = this.#evictionOf(placement);
    this.#evictions.set(placement, eviction);
    return eviction;
  }

  /** The keys because of which the scheduler would not put the pod on its node again; none: it would, or would not before. */
  whyNotAgain({ pod }: RunningPod): readonly ChangedKey[] {
    const { placement, claims, spread, affinity } = pod;
    const isPlacementAll = claims.length === 0 && spread.length === 0 && affinity.length === 0;
    const known = isPlacementAll ? this.#causes.get(placement) : undefined;
    if (known !== undefined) return known;
    const again = (node: Node) => isTakenBy(pod, node, this.#storage);
    const { before, after } = this.#change;
    const causes = again(before) && !again(after) ? causesOf(again, this.#change, this.#keys) : [];
    if (isPlacementAll) this.#causes.set(placement, causes);
    return causes;
  }

  #evictionOf({ tolerations }: PodPlacement): Eviction | undefined {
    const due = (node: Node) => evictedAfter(tolerations, node.taints);
    const [before, after] = [due(this.#change.before), due(this.#change.after)];
    if (after >= before) return undefined;
    const isDrained = this.#isDrained;
    return { seconds: isDrained ? 0 : after, isDrained, causes: causesOf(due, this.#change, this.#keys) };
  }
}

/** By the rules that read labels and taints of the node alone. */
function isTakenBy(pod: Pod, node: Node, storage: Storage): boolean {
  if (judgeTaints(node, pod.placement.tolerations) !== undefined) return false;
  if (judgeAffinity(node, pod.placement) !== undefined) return false;
  if ([...pod.spread, ...pod.affinity].some(({ topologyKey }) => own(node.labels, topologyKey) === undefined))
    return false;
  return areVolumesReachable(pod, node, storage);
}

/** Whether the scheduler places its pods: those of a DaemonSet are bound to their node, those of a Node are static pods. */
export function isScheduled({ owner }: RunningPod): boolean {
  return owner?.kind !== 'DaemonSet' && owner?.kind !== 'Node';
}

/** Of the pods on changed nodes, those that are evicted, or that the scheduler would not put on their node again. */
export function movingPods(
  changes: readonly PlannedChange[],
  pods: ReadonlyMap<string, readonly RunningPod[]>,
  storage: Storage,
): RunningPod[] {
  return changes.flatMap(change => {
    const leaving = new LeavingPods(change, changedKeys(change), change.meanwhile !== undefined, storage);
    const isMoving = (pod: RunningPod) => leaving.eviction(pod) !== undefined || leaving.whyNotAgain(pod).length > 0;
    return (pods.get(change.after.name) ?? []).filter(pod => isScheduled(pod) && isMoving(pod));
  });
}

function areVolumesReachable(pod: Pod, node: Node, storage: Storage): boolean {
  return pod.claims.every(({ name }) => {
    const claim = storage.claims.get(`${pod.namespace}/${name}`);
    const volume = storage.volumes.get(claim?.volumeName ?? '');
    return volume === undefined || isWithin(volume, node);
  });
}
