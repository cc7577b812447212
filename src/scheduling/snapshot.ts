/**
 * The nodes and their pods, indexed for the rules: sums per node, pods by labels, anti-affinity by terms. Does not keep
 * the pods; remove() needs the same pod again.
 */
import type { LabelQuery } from '../nodepool/membership/label-query.ts';
import { quantityReader } from '../nodepool/quantity/amounts.ts';
import type { Node } from '../nodepool/types.ts';
import { ItemsByLabel, ItemsBySelector } from './node/label-index.ts';
import { PodParts } from './pod/pod-parts.ts';
import { allocatableOf, type Requests } from './pod/requests.ts';
import type { Disk, HostPort, PodTerm, PodTraits } from './types.ts';
import { NO_STORAGE, type Storage } from './volumes/storage.ts';

export interface NodeState {
  node: Node;
  allocatable: Requests;
  requested: Map<string, bigint>;
  pods: number;
  /** One entry for each pod that uses it. */
  hostPorts: HostPort[];
  disks: Disk[];
}

/** Pods of one namespace with the same labels. */
export interface LabelGroup {
  namespace: string;
  labels: Record<string, string>;
  /** The node of each pod that is not being deleted. */
  running: NodeState[];
  /** The node of each pod that is being deleted. */
  terminating: NodeState[];
}

/** An anti-affinity term of pods, with the node of each. */
export interface AntiAffinity {
  term: PodTerm;
  nodes: NodeState[];
}

/** The fields that add() and remove() read. */
export type PlacedPod = Pick<
  PodTraits,
  'namespace' | 'labels' | 'requests' | 'hostPorts' | 'antiAffinity' | 'claims' | 'disks' | 'isTerminating'
>;

/** The fields that topology spread and pod affinity of others use. */
export type CountedPod = Pick<PodTraits, 'namespace' | 'labels' | 'isTerminating'>;

export class Snapshot {
  readonly nodes = new Map<string, NodeState>();
  readonly parts = new PodParts();
  /** Volumes and claims; unread ones count as absent. */
  storage: Storage;
  /** Labels by namespace; undefined: only the label with the name, which every namespace has, is known. */
  namespaces: ReadonlyMap<string, Record<string, string>> | undefined;
  /** Volumes that placed pods have taken. */
  readonly takenVolumes = new Set<string>();
  /** Whether an anti-affinity term of a pod on a node needs the labels of namespaces. */
  selectsNamespaces = false;
  #isCounted: (pod: CountedPod) => boolean;
  #groups = new Map<string, LabelGroup>();
  #byLabels = new ItemsByLabel<LabelGroup>();
  /** The nodes of pods with the same terms, keyed by the terms. */
  readonly #antiAffinity = new Map<number, NodeState[]>();
  readonly #antiAffinityTerms = new ItemsBySelector<AntiAffinity>();
  /** Number of pods on nodes, by `namespace/claim`. */
  readonly #claimUsers = new Map<string, number>();

  /** @param isCounted whether it may affect spread and affinity: 50,000 pods have many labels. Default: every pod */
  constructor(
    nodes: readonly Node[],
    namespaces?: ReadonlyMap<string, Record<string, string>>,
    storage: Storage = NO_STORAGE,
    isCounted: (pod: CountedPod) => boolean = () => true,
  ) {
    this.#isCounted = isCounted;
    this.namespaces = namespaces;
    this.storage = storage;
    const read = quantityReader();
    // Thousands of nodes have few different sizes.
    const sizes = new Map<string, Requests>();
    for (const node of nodes) {
      const size = JSON.stringify(node.allocatable);
      const allocatable = sizes.get(size) ?? allocatableOf(node.allocatable, read);
      sizes.set(size, allocatable);
      const state = { node, allocatable, requested: new Map(), pods: 0, hostPorts: [], disks: [] };
      this.nodes.set(node.name, state);
    }
  }

  /** An unfinished pod on a node. As in the scheduler, a pod on an unknown node is ignored. */
  add(pod: PlacedPod, nodeName: string): void {
    const state = this.nodes.get(nodeName);
    if (state === undefined) return;
    this.hold(pod, nodeName);
    if (this.#isCounted(pod)) this.#placesOf(pod).push(state);
    if (pod.antiAffinity.length > 0) this.#antiAffinityOf(pod).push(state);
  }

  /** Undoes an add() of the same pod. */
  remove(pod: PlacedPod, nodeName: string): void {
    const state = this.nodes.get(nodeName);
    if (state === undefined) return;
    this.release(pod, nodeName);
    if (this.#isCounted(pod)) removeFirst(this.#placesOf(pod), other => other === state);
    if (pod.antiAffinity.length > 0) removeFirst(this.#antiAffinityOf(pod), other => other === state);
  }

  /** Like add(), without the pod's effect on spread and affinity. */
  hold(pod: PlacedPod, nodeName: string): void {
    const state = this.nodes.get(nodeName);
    if (state === undefined) return;
    state.pods++;
    addRequests(state.requested, pod.requests, 1n);
    for (const port of pod.hostPorts) state.hostPorts.push(port);
    for (const disk of pod.disks) state.disks.push(disk);
    this.#useClaims(pod, 1);
  }

  /** Undoes a hold() of the same pod. */
  release(pod: PlacedPod, nodeName: string): void {
    const state = this.nodes.get(nodeName);
    if (state === undefined) return;
    state.pods--;
    addRequests(state.requested, pod.requests, -1n);
    for (const { port, ip } of pod.hostPorts) {
      removeFirst(state.hostPorts, other => other.port === port && other.ip === ip);
    }
    for (const disk of pod.disks) removeFirst(state.disks, other => JSON.stringify(other) === JSON.stringify(disk));
    this.#useClaims(pod, -1);
  }

  /** Call once the pods that affect spread and affinity are known: count() then adds them, add() only new pods. */
  countOnly(isCounted: (pod: CountedPod) => boolean): void {
    this.#isCounted = isCounted;
    this.#groups = new Map();
    this.#byLabels = new ItemsByLabel();
  }

  /** For a pod that was added before it was known whether it counts. */
  count(pod: CountedPod, nodeName: string): void {
    const state = this.nodes.get(nodeName);
    if (state !== undefined && this.#isCounted(pod)) this.#placesOf(pod).push(state);
  }

  /** A superset of the pods that it selects, in any namespace. */
  groups(selector: LabelQuery | undefined): readonly LabelGroup[] {
    return this.#byLabels.near(selector);
  }

  /** A superset of the terms that select these labels. */
  antiAffinity(labels: Record<string, string>): readonly AntiAffinity[] {
    return this.#antiAffinityTerms.near(labels);
  }

  allAntiAffinity(): readonly AntiAffinity[] {
    return this.#antiAffinityTerms.all();
  }

  isClaimUsed(key: string): boolean {
    return (this.#claimUsers.get(key) ?? 0) > 0;
  }

  namespaceLabels(name: string): Record<string, string> {
    return this.namespaces?.get(name) ?? { 'kubernetes.io/metadata.name': name };
  }

  #useClaims({ namespace, claims }: PlacedPod, users: 1 | -1): void {
    for (const { name, template } of claims) {
      // No other pod uses a claim that was created with its pod.
      if (template !== undefined) continue;
      const key = `${namespace}/${name}`;
      this.#claimUsers.set(key, (this.#claimUsers.get(key) ?? 0) + users);
    }
  }

  #placesOf({ namespace, labels, isTerminating }: CountedPod): NodeState[] {
    const key = `${namespace} ${this.parts.id(labels)}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { namespace, labels: this.parts.first(labels), running: [], terminating: [] };
      this.#groups.set(key, group);
      this.#byLabels.add(group);
    }
    return isTerminating ? group.terminating : group.running;
  }

  #antiAffinityOf({ antiAffinity }: PlacedPod): NodeState[] {
    const key = this.parts.id(antiAffinity);
    let nodes = this.#antiAffinity.get(key);
    if (nodes === undefined) {
      nodes = [];
      this.#antiAffinity.set(key, nodes);
      for (const term of antiAffinity) this.#antiAffinityTerms.add(term.selector, { term, nodes });
      this.selectsNamespaces ||= antiAffinity.some(selectsNamespaces);
    }
    return nodes;
  }
}

/** Whether the term needs the labels of namespaces. */
export function selectsNamespaces({ namespaceSelector }: PodTerm): boolean {
  return namespaceSelector !== undefined;
}

function addRequests(total: Map<string, bigint>, requests: Requests, sign: 1n | -1n): void {
  for (const [name, amount] of requests) total.set(name, (total.get(name) ?? 0n) + sign * amount);
}

function removeFirst<T>(list: T[], matches: (item: T) => boolean): void {
  const at = list.findIndex(matches);
  if (at !== -1) list.splice(at, 1);
}
