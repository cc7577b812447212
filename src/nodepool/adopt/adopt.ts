/**
 * Finds existing node groups by the labels of cloud providers, provisioners and node roles, and computes the NodePools
 * that would adopt them unchanged.
 */

import { appendTo } from '../json.ts';
import { PROVIDER_LABELS } from '../membership/member-labels.ts';
import { isControlPlane, ROLE_PREFIX } from '../membership/selector.ts';
import { validatePool } from '../spec/validation.ts';
import { compareTexts } from '../text.ts';
import { API_VERSION, type Node, type NodePool } from '../types.ts';
import { adoptedSpec, annotationsByCommand, type NodeAnnotations, nodeSpecificKeys } from './adoptable.ts';

const MAX_NAME_LENGTH = 63;

/** The nodes that share one value of a group label, and the NodePool for them. */
export interface PoolCandidate {
  provider: string;
  label: string;
  value: string;
  /** Priority of the label; the smallest is preferred. */
  rank: number;
  nodes: Node[];
  /** The pool to create. A group that already has a pool gets the name of that pool. */
  pool: NodePool;
  state: { kind: 'new' } | { kind: 'adopted' } | PoolOverlap;
}

/** Some of the nodes already belong to these pools, so the new pool would not get these nodes. */
export interface PoolOverlap {
  kind: 'overlap';
  /** Whether the pools exist; otherwise they are candidates as well. */
  exist: boolean;
  pools: string[];
}

export interface AdoptFacts {
  nodes: Node[];
  annotations: readonly NodeAnnotations[];
  /** Names of existing pools. */
  pools: string[];
  /** The pool that currently owns the node. */
  ownerOf: (node: Node) => string | undefined;
  /** Label keys to search instead of the known ones, most preferred first. Empty: the known keys. */
  labels: string[];
  /** More keys of temporary states, in addition to those of transient-states.ts. */
  transient?: readonly string[];
}

type LabelGroup = Omit<PoolCandidate, 'pool' | 'state'>;

/** Sorted by priority of the label, then by label and value. Names are valid, unique and deterministic. */
export function findCandidates({
  nodes,
  annotations,
  pools,
  ownerOf,
  labels,
  transient = [],
}: AdoptFacts): PoolCandidate[] {
  const all = groupsOf(nodes, labels);
  const groups = labels.length > 0 ? all : withoutAliases(all);
  const annotationsOf = annotationsByCommand(annotations);
  const nodeSpecific = nodeSpecificKeys(
    groups.map(group => group.nodes),
    annotationsOf,
  );
  // Messages and `view` accept pool and node names, so a pool must not have the name of a node.
  const taken = new Set([...pools, ...nodes.map(({ name }) => name)]);
  const sizes = countBy(nodes, ownerOf);
  return groups.map(group => {
    const { label, value, nodes: members } = group;
    const owners = countBy(members, ownerOf);
    // A pool with more nodes than the group does not belong to the group.
    const only = [...owners.keys()].find(
      owner => owners.get(owner) === members.length && sizes.get(owner) === members.length,
    );
    const name = only ?? uniqueName(label, value, taken);
    taken.add(name);
    const pool = { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name } };
    const isNodeSpecific = nodeSpecific(members);
    const spec = adoptedSpec(pool, { [label]: value }, members, { isNodeSpecific, annotationsOf, transient });
    const others = [...owners.keys()].filter(owner => owner !== undefined);
    const state: PoolCandidate['state'] =
      only !== undefined
        ? { kind: 'adopted' }
        : others.length > 0
          ? { kind: 'overlap', exist: true, pools: others.toSorted() }
          : { kind: 'new' };
    return { ...group, pool: { ...pool, spec }, state };
  });
}

/** If candidates with labels of equal priority share nodes, none is created; otherwise the preferred label wins. */
export function withOverlaps(chosen: PoolCandidate[]): PoolCandidate[] {
  const byNode = new Map<string, PoolCandidate[]>();
  for (const candidate of chosen) {
    if (candidate.state.kind !== 'new') continue;
    for (const { name } of candidate.nodes) appendTo(byNode, name, candidate);
  }
  return chosen.map(candidate => {
    if (candidate.state.kind !== 'new') return candidate;
    const rivals = new Set<string>();
    for (const { name } of candidate.nodes) {
      for (const other of byNode.get(name) ?? []) {
        if (other !== candidate && other.rank <= candidate.rank) rivals.add(other.pool.metadata.name);
      }
    }
    if (rivals.size === 0) return candidate;
    return { ...candidate, state: { kind: 'overlap', exist: false, pools: [...rivals].toSorted() } };
  });
}

function groupsOf(nodes: Node[], labels: string[]): LabelGroup[] {
  const groups = new Map<string, LabelGroup>();
  for (const node of nodes) {
    for (const [label, value] of Object.entries(node.labels)) {
      const rank = rankOf(label, labels);
      if (rank === undefined) continue;
      const id = `${label}=${value}`;
      const group = groups.get(id);
      if (group === undefined) groups.set(id, { provider: providerOf(label), label, value, rank, nodes: [node] });
      else group.nodes.push(node);
    }
  }
  return [...groups.values()].toSorted(
    (a, b) => a.rank - b.rank || compareTexts(a.label, b.label) || compareTexts(a.value, b.value),
  );
}

/** Undefined if the label is not a group label. */
function rankOf(label: string, labels: string[]): number | undefined {
  if (labels.length > 0) {
    const rank = labels.indexOf(label);
    return rank < 0 ? undefined : rank;
  }
  const rank = PROVIDER_LABELS.findIndex(({ key }) => key === label);
  if (rank >= 0) return rank;
  // Only found with an explicit label: a mistake in such a pool could break the control plane.
  return label.startsWith(ROLE_PREFIX) && !isControlPlane({ [label]: '' }) ? PROVIDER_LABELS.length : undefined;
}

function providerOf(label: string): string {
  if (label.startsWith(ROLE_PREFIX)) return 'role';
  return PROVIDER_LABELS.find(({ key }) => key === label)?.provider ?? 'label';
}

/** @param groups sorted, most preferred first */
function withoutAliases(groups: LabelGroup[]): LabelGroup[] {
  const best = new Map<Node, number>();
  for (const { nodes, rank } of groups) for (const node of nodes) if (!best.has(node)) best.set(node, rank);
  return groups.filter(({ nodes, rank }) => nodes.some(node => best.get(node) === rank));
}

/** How many of the nodes each pool owns. The key undefined counts nodes without an owner. */
function countBy(nodes: Node[], ownerOf: AdoptFacts['ownerOf']): Map<string | undefined, number> {
  const counts = new Map<string | undefined, number>();
  for (const node of nodes) {
    const owner = ownerOf(node);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}

/** A DNS-1123 label made of the label's value, or of its key's name if the value is empty or the key is a role. */
function uniqueName(label: string, value: string, taken: ReadonlySet<string>): string {
  const isRole = label.startsWith(ROLE_PREFIX);
  const text = value === '' || isRole ? label.slice(label.indexOf('/') + 1) : value;
  const words = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  // Some names are reserved unless the pool has a nodeSelector. They would be misleading even with one.
  const base = isReserved(words) ? `${words}-nodes` : words;
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const name = base.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix;
    if (!taken.has(name)) return name;
  }
}

function isReserved(name: string): boolean {
  return validatePool({ apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec: {} }).length > 0;
}
