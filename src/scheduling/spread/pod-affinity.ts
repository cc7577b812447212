/** Required pod affinity and anti-affinity, of the pod and of running pods (interpodaffinity of kube-scheduler). */
import { ownValue } from '../../nodepool/json.ts';
import { matchesQuery } from '../../nodepool/membership/label-query.ts';
import type { Node } from '../../nodepool/types.ts';
import { withLabelKeys } from '../node/label-index.ts';
import type { RawPodTerm } from '../pod/raw-pod.ts';
import type { LabelGroup, Snapshot } from '../snapshot.ts';
import type { PodTerm, PodTraits, UnfitReason } from '../types.ts';

interface PodKind {
  namespace: string;
  labels: Record<string, string>;
}

const NONE: readonly PodTerm[] = [];

/** @param pod that has the terms */
export function podTermsOf(terms: readonly RawPodTerm[] | undefined, pod: PodKind): readonly PodTerm[] {
  if (terms === undefined || terms.length === 0) return NONE;
  return terms.map(term => {
    const { labelSelector, namespaces = [], namespaceSelector, matchLabelKeys, mismatchLabelKeys } = term;
    const selector = withLabelKeys(labelSelector, matchLabelKeys, pod.labels);
    return {
      topologyKey: term.topologyKey ?? '',
      namespaces: namespaces.length === 0 && namespaceSelector === undefined ? [pod.namespace] : namespaces,
      namespaceSelector,
      selector: withLabelKeys(selector, mismatchLabelKeys, pod.labels, 'NotIn'),
    };
  });
}

/** Whether the term selects the pod. */
export function selects(term: PodTerm, pod: PodKind, snapshot: Snapshot): boolean {
  const { namespaces, namespaceSelector, selector } = term;
  if (!matchesQuery(selector, pod.labels)) return false;
  if (namespaces.includes(pod.namespace)) return true;
  return namespaceSelector !== undefined && matchesQuery(namespaceSelector, snapshot.namespaceLabels(pod.namespace));
}

/** Matching pods, by domain. */
class DomainCounts {
  readonly #counts = new Map<string, number>();

  add(key: string, { labels }: Node): void {
    const value = ownValue(labels, key);
    if (value === undefined) return;
    const domain = `${key}=${value}`;
    this.#counts.set(domain, (this.#counts.get(domain) ?? 0) + 1);
  }

  has(key: string, { labels }: Node): boolean {
    const value = ownValue(labels, key);
    return value !== undefined && this.#counts.has(`${key}=${value}`);
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }
}

/** The terms that concern one pod, with their domains in a snapshot. */
export class PodAffinity {
  readonly #pod: PodTraits;
  readonly #near = new DomainCounts();
  readonly #far = new DomainCounts();
  /** From running pods; by topology key. */
  readonly #refused = new DomainCounts();
  readonly #refusedKeys = new Set<string>();
  /** The pod matches all of its own terms, so the first of its kind may run anywhere. */
  readonly #isNearItself: boolean;
  /** A placed replica counts for the next one. */
  readonly #isNearNext: boolean;
  /** The terms that keep the next replica away from this one. */
  readonly #farFromNext: readonly PodTerm[];

  constructor(pod: PodTraits, snapshot: Snapshot) {
    this.#pod = pod;
    const { affinity, antiAffinity } = pod;
    this.#isNearItself = affinity.length > 0 && affinity.every(term => selects(term, pod, snapshot));
    const next = { namespace: pod.namespace, labels: pod.replicas?.ofNext ?? pod.labels };
    const placed = { namespace: pod.namespace, labels: pod.replicas?.placed ?? pod.labels };
    this.#isNearNext = affinity.length > 0 && affinity.every(term => selects(term, placed, snapshot));
    // The rules of the next replica and those of the placed one apply.
    this.#farFromNext = antiAffinity.filter(term => [next, placed].some(each => selects(term, each, snapshot)));
    if (affinity.length > 0 || antiAffinity.length > 0) this.#countRunning(snapshot);
    for (const { term, nodes } of snapshot.antiAffinity(pod.labels)) {
      if (!selects(term, pod, snapshot)) continue;
      this.#refusedKeys.add(term.topologyKey);
      for (const { node } of nodes) this.#refused.add(term.topologyKey, node);
    }
  }

  /** Whether a placed pod affects the next one of its kind. */
  get isSelfMatching(): boolean {
    return this.#isNearNext || this.#farFromNext.length > 0;
  }

  /** If no required pod exists yet, the first replica determines the domains of these keys for all others. */
  get keysOfFirst(): string[] {
    return this.#isNearNext && this.#near.isEmpty ? this.#pod.affinity.map(({ topologyKey }) => topologyKey) : [];
  }

  /** Each domain of these keys takes only one replica. */
  get keysOfOne(): string[] {
    return [...new Set(this.#farFromNext.map(({ topologyKey }) => topologyKey))];
  }

  judge(node: Node): UnfitReason[] {
    const reasons: UnfitReason[] = [];
    const { affinity, antiAffinity } = this.#pod;
    const missing = affinity.find(({ topologyKey }) => !this.#near.has(topologyKey, node));
    if (missing !== undefined && !this.#mayBeFirst(node)) {
      const detail = domainText(missing.topologyKey, node, 'has no pod that this pod must be near');
      reasons.push({ rule: 'podAffinity', words: "node(s) didn't match pod affinity rules", detail });
    }
    const near = antiAffinity.find(({ topologyKey }) => this.#far.has(topologyKey, node));
    if (near !== undefined) {
      const detail = domainText(near.topologyKey, node, 'has a pod that this pod must be away from');
      reasons.push({ rule: 'podAntiAffinity', words: "node(s) didn't match pod anti-affinity rules", detail });
    }
    const key = [...this.#refusedKeys].find(each => this.#refused.has(each, node));
    if (key !== undefined) {
      const words = "node(s) didn't satisfy existing pods anti-affinity rules";
      const detail = domainText(key, node, 'has a pod that must be away from this pod');
      reasons.push({ rule: 'existingAntiAffinity', words, detail });
    }
    return reasons;
  }

  place(node: Node): void {
    if (this.#isNearNext) for (const { topologyKey } of this.#pod.affinity) this.#near.add(topologyKey, node);
    for (const { topologyKey } of this.#farFromNext) this.#far.add(topologyKey, node);
  }

  /** A node without one of the labels does not even take the first. */
  #mayBeFirst({ labels }: Node): boolean {
    if (!this.#isNearItself || !this.#near.isEmpty) return false;
    return this.#pod.affinity.every(({ topologyKey }) => ownValue(labels, topologyKey) !== undefined);
  }

  #countRunning(snapshot: Snapshot): void {
    const { affinity, antiAffinity } = this.#pod;
    // For affinity all terms must select a pod, for anti-affinity one term.
    const [first] = affinity;
    for (const group of first === undefined ? [] : snapshot.groups(first.selector)) {
      if (affinity.every(term => selects(term, group, snapshot))) count(this.#near, affinity, group);
    }
    for (const term of antiAffinity) {
      for (const group of snapshot.groups(term.selector)) {
        if (selects(term, group, snapshot)) count(this.#far, [term], group);
      }
    }
  }
}

function count(domains: DomainCounts, terms: readonly PodTerm[], { running, terminating }: LabelGroup): void {
  for (const { node } of [...running, ...terminating]) {
    for (const { topologyKey } of terms) domains.add(topologyKey, node);
  }
}

function domainText(key: string, { name, labels }: Node, what: string): string {
  const value = ownValue(labels, key);
  return value === undefined ? `node ${name} has no label ${key}` : `${key}=${value} ${what}`;
}
