/** Replicas that differ: each pod of a StatefulSet or Indexed Job has labels of its own, which rules may use. */
import { ownValue } from '../../nodepool/json.ts';
import { type LabelQuery, matchesQuery, type Requirement } from '../../nodepool/membership/label-query.ts';
import type { Node } from '../../nodepool/types.ts';
import type { RawPod, RawPodSpec, RawPodTerm } from '../pod/raw-pod.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTerm, PodTraits, ReplicaLabels } from '../types.ts';
import { podTermsOf, selects } from './pod-affinity.ts';

/** From Kubernetes 1.35 on, the server copies these labels of a node to the pods that are bound to it. */
const COPIED = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

interface CopiedLabels {
  /** Of some node. */
  labels: Record<string, string>;
  /** Keys of labels that some nodes lack. */
  uneven: readonly string[];
}

export function copiedLabels(nodes: readonly Node[]): CopiedLabels {
  const labels: Record<string, string> = {};
  const uneven: string[] = [];
  for (const key of COPIED) {
    const values = nodes.flatMap(node => ownValue(node.labels, key) ?? []);
    if (values[0] === undefined) continue;
    labels[key] = values[0];
    if (values.length < nodes.length) uneven.push(key);
  }
  return { labels, uneven };
}

/** @param ofNext labels that differ in another replica of its controller */
export function replicaLabels(
  { metadata = {}, spec = {} }: RawPod,
  ofNext: Record<string, string>,
  copied: CopiedLabels = { labels: {}, uneven: [] },
): ReplicaLabels {
  const { namespace = '', labels = {} } = metadata;
  const keys = Object.keys(ofNext);
  const all = [...keys, ...Object.keys(copied.labels)];
  const [named, own]: [RawPodTerm[], RawPodTerm[]] = [[], []];
  for (const rule of rulesOf(spec)) {
    const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = rule;
    const ownKeys = [...matchLabelKeys, ...mismatchLabelKeys].filter(key => keys.includes(key));
    const others = all.filter(key => !ownKeys.includes(key));
    if (ownKeys.length > 0) own.push(rule);
    // The server writes the values of matchLabelKeys into the selector.
    if (others.some(key => namesLabel(labelSelector, key, copied.uneven))) named.push(rule);
  }
  const termsOf = (some: readonly RawPodTerm[]) => {
    return podTermsOf(
      some.map(rule => withoutKeys(rule, all, copied.uneven)),
      { namespace, labels },
    );
  };
  const next = { ...labels, ...ofNext };
  return { keys, ofNext: next, placed: { ...next, ...copied.labels }, named: termsOf(named), own: termsOf(own) };
}

/** Whether a rule of the pod selects by labels that are copied from nodes. */
export function usesCopiedLabels({ spec = {} }: RawPod): boolean {
  return rulesOf(spec).some(({ labelSelector }) => COPIED.some(key => namesLabel(labelSelector, key, COPIED)));
}

/** The same for a pod that was read. */
export function namesCopiedLabels({ spread, affinity, antiAffinity }: PodTraits): boolean {
  // Nearly always.
  if (spread.length + affinity.length + antiAffinity.length === 0) return false;
  const selectors = [...spread, ...affinity, ...antiAffinity].map(({ selector }) => selector);
  return selectors.some(selector => COPIED.some(key => namesLabel(selector, key, COPIED)));
}

/** Without the labels that the pod got from its node. */
export function withoutCopiedLabels(pod: RawPod): RawPod {
  const labels = Object.entries(pod.metadata?.labels ?? {}).filter(([key]) => !COPIED.includes(key));
  return { ...pod, metadata: { ...pod.metadata, labels: Object.fromEntries(labels) } };
}

function rulesOf({ affinity, topologySpreadConstraints = [] }: RawPodSpec): RawPodTerm[] {
  return [
    ...(affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...topologySpreadConstraints.filter(each => each.whenUnsatisfiable === 'DoNotSchedule'),
  ];
}

/** Whether rules distinguish replicas, so that the result for one says nothing about the others. */
export function replicasDiffer(pod: PodTraits, snapshot: Snapshot): boolean {
  if (pod.replicas === undefined) return false;
  const { keys, ofNext, placed, named, own } = pod.replicas;
  const selectsReplicas = (term: PodTerm) =>
    [ofNext, placed].some(labels => selects(term, { namespace: pod.namespace, labels }, snapshot));
  if (named.some(selectsReplicas)) return true;
  // Rules about a replica's own labels do not concern other replicas, unless such pods already run.
  const runs = ({ selector }: PodTerm) => snapshot.groups(selector).some(group => matchesQuery(selector, group.labels));
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
  uneven: readonly string[],
): RawPodTerm {
  const isOther = (key: string) => !keys.includes(key);
  const selector = withoutLabels(labelSelector, keys, uneven);
  return {
    ...rule,
    ...(selector === undefined ? {} : { labelSelector: selector }),
    matchLabelKeys: matchLabelKeys.filter(isOther),
    mismatchLabelKeys: mismatchLabelKeys.filter(isOther),
  };
}

function withoutLabels(
  selector: LabelQuery | undefined,
  keys: readonly string[],
  uneven: readonly string[] = [],
): LabelQuery | undefined {
  if (selector === undefined) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return {
    matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => !keys.includes(key))),
    matchExpressions: matchExpressions.filter(each => !keys.includes(each.key) || !distinguishes(each, uneven)),
  };
}

function namesLabel(
  { matchLabels = {}, matchExpressions = [] }: LabelQuery = {},
  key: string,
  uneven: readonly string[] = [],
): boolean {
  const isNamed = matchExpressions.some(each => each.key === key && distinguishes(each, uneven));
  return isNamed || ownValue(matchLabels, key) !== undefined;
}

/** If every replica has the label, its existence does not distinguish them. */
function distinguishes({ key, operator }: Requirement, uneven: readonly string[]): boolean {
  return operator === 'In' || operator === 'NotIn' || uneven.includes(key);
}
