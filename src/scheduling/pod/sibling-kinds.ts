/** Pods of one controller that only differ in labels unique to each pod, which no rule uses. */
import type { LabelQuery } from '../../nodepool/membership/label-query.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTraits } from '../types.ts';

const OWN_LABELS = [
  'statefulset.kubernetes.io/pod-name',
  'apps.kubernetes.io/pod-index',
  'batch.kubernetes.io/job-completion-index',
  // From Kubernetes 1.35 on, a pod gets these labels of its node when it is scheduled.
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
];

/** Returns the traits that such pods share. @param pods all pods to place, of any controller */
export function siblingKinds(pods: Iterable<PodTraits>, snapshot: Snapshot): (pod: PodTraits) => PodTraits {
  const unique = new Set(pods);
  const rules = new Set(
    [...unique].flatMap(({ spread, affinity, antiAffinity }) => [spread, affinity, antiAffinity] as const),
  );
  const asked = new Set([...rules].flatMap(terms => terms.flatMap(({ selector }) => keysOf(selector))));
  const own = OWN_LABELS.filter(key => !asked.has(key));
  const kinds = new Map<PodTraits, PodTraits>();
  return pod => {
    const known = kinds.get(pod) ?? withoutLabels(pod, own, snapshot);
    kinds.set(pod, known);
    return known;
  };
}

function withoutLabels(pod: PodTraits, own: readonly string[], snapshot: Snapshot): PodTraits {
  const { labels } = pod;
  if (!own.some(key => Object.hasOwn(labels, key))) return pod;
  // Rules of running pods may use them too.
  const asked = new Set(snapshot.antiAffinity(labels).flatMap(({ term }) => keysOf(term.selector)));
  const isKept = ([key]: [string, string]) => asked.has(key) || !own.includes(key);
  return snapshot.parts.traits({ ...pod, labels: Object.fromEntries(Object.entries(labels).filter(isKept)) });
}

function keysOf({ matchLabels = {}, matchExpressions = [] }: LabelQuery = {}): string[] {
  return [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
}
