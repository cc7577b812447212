/** `DoNotSchedule` constraints (podtopologyspread of kube-scheduler). The default constraints are only preferences. */
import { isMatching, untoleratedTaints } from '../../nodepool/drain/placement.ts';
import { ownValue } from '../../nodepool/json.ts';
import { type LabelQuery, matchesQuery } from '../../nodepool/membership/label-query.ts';
import type { Node } from '../../nodepool/types.ts';
import { withLabelKeys } from '../node/label-index.ts';
import type { RawSpreadConstraint } from '../pod/raw-pod.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTraits, SpreadConstraint, UnfitReason } from '../types.ts';

const NONE: readonly SpreadConstraint[] = [];

/** @param labels of the pod */
export function spreadOf(
  constraints: readonly RawSpreadConstraint[] | undefined,
  labels: Record<string, string>,
): readonly SpreadConstraint[] {
  const hard = (constraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule');
  if (hard.length === 0) return NONE;
  return hard.map(({ maxSkew = 1, topologyKey = '', labelSelector, minDomains = 1, ...rest }) => ({
    maxSkew,
    topologyKey,
    selector: withLabelKeys(labelSelector, rest.matchLabelKeys, labels),
    minDomains,
    honorsAffinity: (rest.nodeAffinityPolicy ?? 'Honor') === 'Honor',
    honorsTaints: rest.nodeTaintsPolicy === 'Honor',
  }));
}

/** Counts the pods in each domain of one constraint. */
class TopologyDomains {
  readonly constraint: SpreadConstraint;
  readonly counts = new Map<string, number>();
  /** 1: the pod itself counts. */
  readonly selfMatch: 0 | 1;
  /** A placed replica counts for the next one. An empty selector selects all pods, but the scheduler counts none. */
  readonly countsNext: boolean;
  /** Undefined: must be computed again. */
  #min: number | undefined;
  /** Number of domains with this minimum. */
  #atMin = 0;

  constructor(constraint: SpreadConstraint, pod: PodTraits) {
    this.constraint = constraint;
    this.selfMatch = matchesQuery(constraint.selector, pod.labels) ? 1 : 0;
    this.countsNext =
      matchesQuery(constraint.selector, pod.replicas?.placed ?? pod.labels) && !isEmpty(constraint.selector ?? {});
  }

  /** @param pods at least 0 */
  add(domain: string, pods: number): void {
    const before = this.counts.get(domain);
    this.counts.set(domain, (before ?? 0) + pods);
    if (before === undefined) this.#min = undefined;
    else if (before === this.#min && pods > 0 && --this.#atMin === 0) this.#min = undefined;
  }

  min(): number {
    if (this.counts.size < this.constraint.minDomains) return 0;
    if (this.#min !== undefined) return this.#min;
    let [min, atMin] = [Infinity, 0];
    for (const count of this.counts.values()) {
      if (count < min) [min, atMin] = [count, 1];
      else if (count === min) atMin++;
    }
    [this.#min, this.#atMin] = [min, atMin];
    return min;
  }

  skewAt(domain: string): number {
    return (this.counts.get(domain) ?? 0) + this.selfMatch - this.min();
  }
}

const WORDS = "node(s) didn't match pod topology spread constraints";

/** A constraint with the pod counts of its domains. */
export interface SpreadState {
  topologyKey: string;
  maxSkew: number;
  /** Number of pods, by domain. */
  counts: ReadonlyMap<string, number>;
  /** There are fewer domains than minDomains, so the minimum counts as 0. */
  isShort: boolean;
}

/** The constraints of one pod, with the pods that count in a snapshot. */
export class TopologySpread {
  readonly #pod: PodTraits;
  readonly #domains: TopologyDomains[];

  constructor(pod: PodTraits, snapshot: Snapshot) {
    this.#pod = pod;
    this.#domains = pod.spread.map(constraint => new TopologyDomains(constraint, pod));
    if (this.#domains.length === 0) return;
    const eligible = this.#domains.map(domains => this.#eligibleNodes(domains, snapshot));
    for (const [i, domains] of this.#domains.entries()) {
      const { selector } = domains.constraint;
      // An empty selector selects all pods, but the scheduler counts none.
      if (selector === undefined || isEmpty(selector)) continue;
      for (const group of snapshot.groups(selector)) {
        if (group.namespace !== pod.namespace || !matchesQuery(selector, group.labels)) continue;
        for (const { node } of group.running) {
          const domain = eligible[i]?.get(node.name);
          if (domain !== undefined) domains.add(domain, 1);
        }
      }
    }
  }

  /** Whether a placed pod affects the next one of its kind. */
  get isSelfMatching(): boolean {
    return this.#domains.some(({ countsNext }) => countsNext);
  }

  /** Whether the node meets the constraints that placed replicas do not change. */
  isOpen(node: Node): boolean {
    return hasAllKeys(node, this.#domains) && this.#refusal(node, ({ countsNext }) => !countsNext) === undefined;
  }

  /** The constraints that placed replicas change. */
  get counting(): SpreadState[] {
    return this.#domains
      .filter(({ countsNext }) => countsNext)
      .map(({ constraint: { topologyKey, maxSkew, minDomains }, counts, selfMatch }) => {
        // A replica that does not count itself may exceed the skew by one.
        return { topologyKey, maxSkew: maxSkew + 1 - selfMatch, counts, isShort: counts.size < minDomains };
      });
  }

  judge(node: Node): UnfitReason | undefined {
    return this.#refusal(node, () => true);
  }

  #refusal({ name, labels }: Node, isAsked: (domains: TopologyDomains) => boolean): UnfitReason | undefined {
    for (const domains of this.#domains) {
      if (!isAsked(domains)) continue;
      const { topologyKey, maxSkew } = domains.constraint;
      const domain = ownValue(labels, topologyKey);
      if (domain === undefined) {
        const words = `${WORDS} (missing required label)`;
        return { rule: 'spread', words, detail: `node ${name} has no label ${topologyKey}` };
      }
      const skew = domains.skewAt(domain);
      if (skew > maxSkew) {
        return {
          rule: 'spread',
          words: WORDS,
          detail: `${topologyKey}=${domain} would have a skew of ${skew}, at most ${maxSkew}`,
        };
      }
    }
    return undefined;
  }

  /** Counts the pod on this node. */
  place(node: Node): void {
    if (!hasAllKeys(node, this.#domains)) return;
    for (const domains of this.#domains) {
      const { constraint, countsNext } = domains;
      if (!countsNext || !this.#counts(constraint, node)) continue;
      domains.add(ownValue(node.labels, constraint.topologyKey) ?? '', 1);
    }
  }

  /** The number of pods in the node's domains: pods go to the smallest first. */
  load({ labels }: Node): number {
    let load = 0;
    for (const { constraint, counts } of this.#domains)
      load += counts.get(ownValue(labels, constraint.topologyKey) ?? '') ?? 0;
    return load;
  }

  /** The domain of each node that counts for the constraint; every such domain starts with no pods. */
  #eligibleNodes(domains: TopologyDomains, snapshot: Snapshot): Map<string, string> {
    const eligible = new Map<string, string>();
    const { constraint } = domains;
    for (const { node } of snapshot.nodes.values()) {
      if (!hasAllKeys(node, this.#domains) || !this.#counts(constraint, node)) continue;
      const domain = ownValue(node.labels, constraint.topologyKey) ?? '';
      eligible.set(node.name, domain);
      if (!domains.counts.has(domain)) domains.add(domain, 0);
    }
    return eligible;
  }

  #counts({ honorsAffinity, honorsTaints }: SpreadConstraint, node: Node): boolean {
    const { placement } = this.#pod;
    if (honorsAffinity && !isMatching(placement, node)) return false;
    return !honorsTaints || untoleratedTaints(node, placement.tolerations) === undefined;
  }
}

function hasAllKeys({ labels }: Node, domains: readonly TopologyDomains[]): boolean {
  return domains.every(({ constraint }) => ownValue(labels, constraint.topologyKey) !== undefined);
}

function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelQuery): boolean {
  return matchExpressions.length === 0 && Object.keys(matchLabels).length === 0;
}
