/** Pods of a drain that no other node takes, by nodeSelector, node affinity, tolerations, and where their volumes are. */
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { type DrainPod, groupByOutcome, isRecreated, podName } from '../../nodepool/drain/drain-filters.ts';
import {
  isMatching,
  type PodPlacement,
  toleratesCordon,
  untolerated,
  whyUnplaced,
} from '../../nodepool/drain/placement.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Storage, Volume } from '../../scheduling/volumes/storage.ts';
import { isWithin } from '../../scheduling/volumes/volumes.ts';
import { attempt } from '../shared/attempt.ts';

export type ReadVolumes = SchedulingPort['boundVolumes'];

export interface Unplaced {
  pod: DrainPod;
  why: keyof typeof REASONS;
}

const REASONS = {
  'no nodes': 'as every other node is cordoned or not Ready',
  'no match': 'as no other schedulable node matches their nodeSelector and node affinity',
  taints: 'as they do not tolerate the taints of the other schedulable nodes that they match',
  volumes: 'as no other schedulable node that takes them reaches their volumes',
};

/**
 * Only of pods that a controller recreates; such a pod has the claims of the one before, but those of ephemeral volumes.
 * @param others nodes that are not drained
 */
export function unplacedPods(
  pods: readonly DrainPod[],
  others: readonly Node[],
  storage: Pick<Storage, 'claims' | 'volumes'> | undefined,
): Unplaced[] {
  const nodes = others.filter(({ ready, unschedulable }) => ready && !unschedulable);
  // The pods of one template have the same answer, but for their volumes.
  const known = new Map<string, Unplaced['why'] | undefined>();
  const whyOf = ({ placement, namespace, claims = [] }: DrainPod) => {
    const volumes = storage === undefined ? [] : claims.flatMap(name => volumeOf(`${namespace}/${name}`, storage));
    const key = JSON.stringify([placement, ...volumes.map(({ name }) => name)]);
    if (!known.has(key)) known.set(key, whyUnplaced(placement, nodes) ?? whyNoVolume(placement, volumes, nodes));
    return known.get(key);
  };
  return pods.flatMap(pod => {
    if (!isMoving(pod)) return [];
    const why = whyOf(pod);
    return why === undefined ? [] : [{ pod, why }];
  });
}

/** Reads nothing where no pod that moves has a claim. `isRefused`: it could not be read. */
export async function volumesOf(
  pods: readonly DrainPod[],
  read: ReadVolumes,
): Promise<{ storage?: Pick<Storage, 'claims' | 'volumes'>; isRefused: boolean }> {
  const claiming = pods.filter(pod => isMoving(pod) && pod.claims !== undefined);
  if (claiming.length === 0) return { isRefused: false };
  const answer = await attempt(() => read(new Set(claiming.map(({ namespace }) => namespace))));
  return 'value' in answer ? { storage: answer.value, isRefused: false } : { isRefused: true };
}

/** Pods that tolerate the cordon return to the node that is drained. */
function isMoving(pod: DrainPod): boolean {
  return isRecreated(pod) && !toleratesCordon(pod.placement);
}

function volumeOf(name: string, { claims, volumes }: Pick<Storage, 'claims' | 'volumes'>): Volume[] {
  const claim = claims.get(name);
  const volume = claim?.isBound ? volumes.get(claim.volumeName) : undefined;
  return volume === undefined ? [] : [volume];
}

function whyNoVolume(placement: PodPlacement, volumes: readonly Volume[], nodes: readonly Node[]) {
  if (volumes.length === 0) return undefined;
  const isTaking = (node: Node) =>
    isMatching(placement, node) &&
    untolerated(node, placement.tolerations) === undefined &&
    volumes.every(volume => isWithin(volume, node));
  return nodes.some(isTaking) ? undefined : 'volumes';
}

/** A line for each reason. @param isGradual until the last node is cordoned, some of those that are drained take pods */
export function unplacedLines(unplaced: readonly Unplaced[], isGradual: boolean): string[] {
  const ofNodes = isGradual ? ' once all nodes of the drain are cordoned' : '';
  const lines = unplaced.map(({ pod, why }) => {
    const when = why === 'volumes' ? ' until nodes of the drain are uncordoned' : ofNodes;
    return { what: `pods will stay Pending${when}, ${REASONS[why]}`, pod: podName(pod) };
  });
  return groupByOutcome(lines);
}
