/** Which pods on a changed node are evicted, and which keep running where the scheduler would not put them again. */
import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import { ownValue } from '../../nodepool/json.ts';
import type { SchedulingChange } from '../../nodepool/plan/runtime-class.ts';
import { evictedAfter } from '../../nodepool/spec/taints.ts';
import type { Node, Toleration } from '../../nodepool/types.ts';
import { judgeAffinity, judgeTaints } from '../node/node-rules.ts';
import type { PodTraits, RunningPlacement } from '../types.ts';
import type { Storage } from '../volumes/storage.ts';
import { areVolumesReachable } from '../volumes/volumes.ts';
import { type ChangedKey, causesOf, changedKeys, type PlannedChange } from './node-keys.ts';
import type { PodEviction, RunningPod } from './types.ts';

/** The pod is evicted, or `causes` are why it would not be scheduled there again; empty: no difference. */
export type PodFate = { eviction: PodEviction } | { causes: readonly ChangedKey[] };

/** The effects of one change on pods of its node. Most pods share a placement, and so the result. */
export class LeavingPods {
  readonly change: PlannedChange;
  /** The changed labels and taints. */
  readonly keys: readonly ChangedKey[];
  /** A list: for the few placements per node, a map would take three times the memory. */
  readonly #fates: { placement: PodPlacement; fate: PodFate }[] = [];

  constructor(change: PlannedChange) {
    this.change = change;
    this.keys = changedKeys(change);
  }

  fate({ pod, owner }: Pick<RunningPod, 'pod' | 'owner'>, storage: Storage): PodFate {
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

  /** Changed labels that its affinity, anti-affinity or spread use as topology key, which may move the pod. */
  topologyKeys({ spread, affinity, antiAffinity }: PodTraits): ChangedKey[] {
    const terms = [...spread, ...affinity, ...antiAffinity];
    if (terms.length === 0) return [];
    return this.keys.filter(
      ({ kind, key }) => kind === 'label' && terms.some(({ topologyKey }) => topologyKey === key),
    );
  }

  #whyNotAgain(pod: PodTraits, storage: Storage): readonly ChangedKey[] {
    const { before, after } = this.change;
    const recreated = recreatedPod(pod);
    const again = (node: Node) => isTakenBy(node === before ? pod : recreated, node, storage);
    return again(before) && !again(after) ? causesOf(again, this.change, this.keys) : [];
  }

  /** Undefined: the change does not evict the pod, or not sooner. */
  #eviction({ tolerations }: PodPlacement): PodEviction | undefined {
    const evictionTime = (node: Node) => evictedAfter(tolerations, node.taints);
    const [before, after] = [evictionTime(this.change.before), evictionTime(this.change.after)];
    if (after >= before) return undefined;
    // The taints are set after the eviction.
    const { meanwhile } = this.change;
    const isDrained = meanwhile !== undefined;
    const mayReturn = isDrained && judgeTaints(meanwhile, tolerations) === undefined;
    return {
      seconds: isDrained ? 0 : after,
      isDrained,
      mayReturn,
      causes: causesOf(evictionTime, this.change, this.keys),
    };
  }
}

const NONE: PodFate = { causes: [] };

/** Checks only rules about labels and taints of the node itself. */
function isTakenBy(pod: PodTraits, node: Node, storage: Storage): boolean {
  if (judgeTaints(node, pod.placement.tolerations) !== undefined) return false;
  if (judgeAffinity(node, pod.placement) !== undefined) return false;
  return hasTopologyKeys(pod, node) && areVolumesReachable(pod, node, storage);
}

/** Without the label, the node takes no pod with such a rule, wherever others are. Anti-affinity does not need it. */
function hasTopologyKeys({ spread, affinity }: PodTraits, { labels }: Node): boolean {
  return [...spread, ...affinity].every(({ topologyKey }) => ownValue(labels, topologyKey) !== undefined);
}

/** Whether the scheduler places its pods. DaemonSet pods are bound to their node, pods owned by a Node are static. */
export function isScheduled({ owner }: Pick<RunningPod, 'owner'>): boolean {
  return owner?.kind !== 'DaemonSet' && owner?.kind !== 'Node';
}

/** Pods on changed nodes that are evicted, or that the scheduler may not put on their node again. */
export function movingPods(
  nodes: readonly LeavingPods[],
  pods: ReadonlyMap<string, readonly RunningPod[]>,
  storage: Storage,
): RunningPod[] {
  return nodes.flatMap(leaving => {
    const isMoving = (pod: RunningPod) => {
      const fate = leaving.fate(pod, storage);
      return 'eviction' in fate || fate.causes.length > 0 || leaving.topologyKeys(pod.pod).length > 0;
    };
    return (pods.get(leaving.change.after.name) ?? []).filter(pod => isScheduled(pod) && isMoving(pod));
  });
}

// Pods of a changed RuntimeClass. Admission adds its node selector and tolerations when a pod is created: running pods
// keep the old ones, and pods that replace them get the new ones.
//
// The pod's template is not known. Values that the RuntimeClass also has, and labels that the pod's node lacks, are
// assumed to come from the RuntimeClass, now or earlier.

/** @param node before the change */
type RecreatePlacement = (
  placement: PodPlacement,
  node: Pick<Node, 'labels'>,
  runtimeClass: string | undefined,
) => RunningPlacement;

/** Computes `recreated` once for all pods that share a placement. @param classes by name */
export function recreations(classes: ReadonlyMap<string, SchedulingChange>): RecreatePlacement {
  const byClass = new Map([...classes].map(([name, change]) => [name, new RecreatedPlacements(change)]));
  return (placement, node, runtimeClass = '') => byClass.get(runtimeClass)?.of(placement, node) ?? placement;
}

export function recreatedPod(pod: PodTraits): PodTraits {
  const { recreated } = pod.placement;
  return recreated === undefined ? pod : { ...pod, placement: recreated };
}

/** For one RuntimeClass. */
class RecreatedPlacements {
  readonly #change: SchedulingChange;
  /** Keyed by the unchanged part of the node selector. */
  readonly #known = new WeakMap<PodPlacement, Map<string, RunningPlacement>>();

  constructor(change: SchedulingChange) {
    this.#change = change;
  }

  of(placement: PodPlacement, { labels }: Pick<Node, 'labels'>): RunningPlacement {
    const { nodeSelector: had = {} } = this.#change.before;
    const isOwn = ([key, value]: [string, string]) => ownValue(had, key) !== value && ownValue(labels, key) === value;
    const selector = Object.entries(placement.nodeSelector).filter(isOwn);
    const known = this.#known.get(placement) ?? new Map<string, RunningPlacement>();
    this.#known.set(placement, known);
    const text = selector.join();
    const made = known.get(text) ?? { ...placement, recreated: this.#recreate(placement, selector) };
    known.set(text, made);
    return made;
  }

  #recreate({ nodeTerms, tolerations }: PodPlacement, selector: [string, string][]): PodPlacement {
    const { before, after } = this.#change;
    const [had, gets] = [before.tolerations ?? [], after.tolerations ?? []];
    const isOfPod = (each: Toleration) =>
      !had.some(other => isSame(each, other)) && !gets.some(other => isSameButTime(each, other));
    return {
      nodeSelector: { ...Object.fromEntries(selector), ...after.nodeSelector },
      nodeTerms,
      // In the order in which admission merges them, without duplicates of the RuntimeClass.
      tolerations: [...tolerations.filter(isOfPod), ...gets],
    };
  }
}

function isSame(a: Toleration, b: Toleration): boolean {
  return isSameButTime(a, b) && a.tolerationSeconds === b.tolerationSeconds;
}

function isSameButTime(a: Toleration, b: Toleration): boolean {
  const text = ({ key = '', operator = '', value = '', effect = '' }: Toleration) =>
    [key, operator, value, effect].join();
  return text(a) === text(b);
}
