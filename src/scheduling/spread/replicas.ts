/** Replicas that differ: each pod of a StatefulSet or Indexed Job has labels of its own, which rules may use. */
import { ownValue } from '../../nodepool/json.ts';
import { type LabelQuery, matchesQuery, type Requirement } from '../../nodepool/membership/label-query.ts';
import type { RawPod, RawPodTerm } from '../pod/raw-pod.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTerm, PodTraits, ReplicaLabels } from '../types.ts';
import { podTermsOf, selects } from './pod-affinity.ts';

/** @param ofNext labels that differ in another replica of its controller */
export function replicaLabels({ metadata = {}, spec = {} }: RawPod, ofNext: Record<string, string>): ReplicaLabels {
  const { namespace = '', labels = {} } = metadata;
  const keys = Object.keys(ofNext);
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const rules: RawPodTerm[] = [
    ...(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(spec.topologySpreadConstraints ?? []).filter(each => each.whenUnsatisfiable === 'DoNotSchedule'),
  ];
  const [named, own]: [RawPodTerm[], RawPodTerm[]] = [[], []];
  for (const rule of rules) {
    const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = rule;
    const ownKeys = [...matchLabelKeys, ...mismatchLabelKeys].filter(key => keys.includes(key));
    const others = keys.filter(key => !ownKeys.includes(key));
    if (ownKeys.length > 0) own.push(rule);
    // The server writes the values of matchLabelKeys into the selector.
    if (others.some(key => namesLabel(labelSelector, key))) named.push(rule);
  }
  const termsOf = (some: readonly RawPodTerm[]) => {
    return podTermsOf(
      some.map(rule => withoutKeys(rule, keys)),
      { namespace, labels },
    );
  };
  return { keys, ofNext: { ...labels, ...ofNext }, named: termsOf(named), own: termsOf(own) };
}

/** Whether rules distinguish replicas, so that the result for one says nothing about the others. */
export function replicasDiffer(pod: PodTraits, snapshot: Snapshot): boolean {
  if (pod.replicas === undefined) return false;
  const { keys, named, own } = pod.replicas;
  const selectsReplicas = (term: PodTerm) => selects(term, pod, snapshot);
  if (named.some(selectsReplicas)) return true;
  // Rules about a replica's own labels do not concern other replicas, unless such pods already run.
  const runs = ({ selector }: PodTerm) =>
    snapshot.groups(selector).some(({ labels }) => matchesQuery(selector, labels));
  if (own.some(term => selectsReplicas(term) && runs(term))) return true;
  return snapshot
    .allAntiAffinity()
    .some(
      ({ term }) =>
        keys.some(key => namesLabel(term.selector, key)) &&
        selectsReplicas({ ...term, selector: withoutLabels(term.selector, keys) }),
    );
}

function withoutKeys(
  { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [], ...rule }: RawPodTerm,
  keys: readonly string[],
): RawPodTerm {
  const isOther = (key: string) => !keys.includes(key);
  const selector = withoutLabels(labelSelector, keys);
  return {
    ...rule,
    ...(selector === undefined ? {} : { labelSelector: selector }),
    matchLabelKeys: matchLabelKeys.filter(isOther),
    mismatchLabelKeys: mismatchLabelKeys.filter(isOther),
  };
}

function withoutLabels(selector: LabelQuery | undefined, keys: readonly string[]): LabelQuery | undefined {
  if (selector === undefined) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return {
    matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => !keys.includes(key))),
    matchExpressions: matchExpressions.filter(each => !keys.includes(each.key) || !isByValue(each)),
  };
}

function namesLabel({ matchLabels = {}, matchExpressions = [] }: LabelQuery = {}, key: string): boolean {
  const isNamed = matchExpressions.some(each => each.key === key && isByValue(each));
  return isNamed || ownValue(matchLabels, key) !== undefined;
}

/** Every replica has the label, so its existence does not distinguish them. */
function isByValue({ operator }: Requirement): boolean {
  return operator === 'In' || operator === 'NotIn';
}
