/** Where volumes are, by node affinity and zone. A node reaches only a few of thousands of local volumes. */
import { matchesTerm, type NodeTerm } from '../../nodepool/drain/placement.ts';
import { ownValue } from '../../nodepool/json.ts';
import { compareQuantities } from '../../nodepool/quantity/quantity.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Volume } from './storage.ts';

type Terms = readonly NodeTerm[] | undefined;

/** Like CheckNodeAffinity: a volume without terms is reachable everywhere. Its terms only see labels. */
export function isReachable(terms: Terms, { labels }: Pick<Node, 'labels'>): boolean {
  return terms === undefined || terms.some(term => matchesTerm(term, { name: '', labels }));
}

/** Volumes that the same nodes reach. */
export interface VolumePart {
  id: number;
  terms: Terms;
  /** Smallest first, with the index in the whole list. */
  volumes: { volume: Volume; at: number }[];
}

export class VolumesByNode {
  /** By label key, then by value. */
  readonly #byLabel = new Map<string, Map<string, VolumePart[]>>();
  readonly #others: VolumePart[] = [];

  constructor(volumes: readonly Volume[]) {
    const parts = new Map<string, VolumePart>();
    for (const [at, volume] of volumes.entries()) {
      const terms = volume.nodeTerms;
      const key = JSON.stringify([terms, zonesOf(volume.labels)]);
      const part = parts.get(key) ?? { id: parts.size, terms, volumes: [] };
      parts.set(key, part);
      part.volumes.push({ volume, at });
    }
    for (const part of parts.values()) {
      part.volumes.sort((a, b) => compareQuantities(a.volume.size, b.volume.size));
      this.#add(part);
    }
  }

  /** The parts that the node reaches. */
  near(node: Node): VolumePart[] {
    const near = [...this.#others];
    for (const [key, byValue] of this.#byLabel) {
      const value = ownValue(node.labels, key);
      if (value !== undefined) near.push(...(byValue.get(value) ?? []));
    }
    return near.filter(({ terms }) => isReachable(terms, node));
  }

  #add(part: VolumePart): void {
    const label = labelOf(part.terms);
    if (label === undefined) {
      this.#others.push(part);
      return;
    }
    const byValue = this.#byLabel.get(label.key) ?? new Map<string, VolumePart[]>();
    this.#byLabel.set(label.key, byValue);
    for (const value of label.values) byValue.set(value, [...(byValue.get(value) ?? []), part]);
  }
}

export class NodesByLabel {
  readonly #nodes: readonly Node[];
  readonly #byKey = new Map<string, Map<string | undefined, Node[]>>();

  constructor(nodes: readonly Node[]) {
    this.#nodes = nodes;
  }

  /** The nodes that reach volumes with these terms. */
  reaching(terms: Terms): readonly Node[] {
    const label = labelOf(terms);
    if (label === undefined) return this.#nodes.filter(node => isReachable(terms, node));
    let byValue = this.#byKey.get(label.key);
    if (byValue === undefined) {
      byValue = Map.groupBy(this.#nodes, ({ labels }) => ownValue(labels, label.key));
      this.#byKey.set(label.key, byValue);
    }
    return [...label.values].flatMap(value => byValue.get(value) ?? []).filter(node => isReachable(terms, node));
  }
}

const HOST = 'kubernetes.io/hostname';

/** A label that a single term requires: the one that the fewest nodes share. */
function labelOf(terms: Terms): { key: string; values: ReadonlySet<string> } | undefined {
  const [term, ...others] = terms ?? [];
  if (others.length > 0) return undefined;
  const byLabel = (term?.matchExpressions ?? []).filter(({ operator }) => operator === 'In');
  const label = byLabel.find(({ key }) => key === HOST) ?? byLabel[0];
  return label && { key: label.key, values: new Set(label.values) };
}

// The zone in a volume's labels (volumezone of kube-scheduler).

const ZONE_LABELS = [
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
] as const;
const STABLE_KEYS: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
};

/** Kubernetes' separator for volumes in several zones. */
const SEPARATOR = '__';

/** Whether a pod on the node can use the volume. */
export function isWithin(volume: Volume, node: Node): boolean {
  return isReachable(volume.nodeTerms, node) && otherZone(volume, node) === undefined;
}

/** The volume's label that the node lacks, as `key=value`. A node without a zone matches any. */
export function otherZone(volume: Volume, { labels }: Node): string | undefined {
  if (!ZONE_LABELS.some(key => ownValue(labels, key) !== undefined)) return undefined;
  for (const [key, zones] of zonesOf(volume.labels)) {
    const zone = ownValue(labels, key) ?? ownValue(labels, STABLE_KEYS[key] ?? key);
    if (zone === undefined || !zones.includes(zone)) return `${key}=${zones.join(SEPARATOR)}`;
  }
  return undefined;
}

/** The zones and regions of a volume, by label. */
export function zonesOf(labels: Readonly<Record<string, string>> = {}): [key: string, zones: string[]][] {
  return ZONE_LABELS.flatMap(key => {
    const zones = ownValue(labels, key);
    return zones === undefined ? [] : [[key, zones.split(SEPARATOR)] as [string, string[]]];
  });
}
