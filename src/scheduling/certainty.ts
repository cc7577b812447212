/** Whether one of several pods that are placed at the same time has a place whatever nodes the scheduler gives to the others. */
import { matchesQuery } from '../nodepool/membership/label-query.ts';
import { judgePorts } from './node/resources.ts';
import type { NodeState } from './snapshot.ts';
import type { PodTerm, PodTraits } from './types.ts';

/** Three shares of a third may add up to less than 1. */
const ROUNDING = 1e-6;

/** Requests and host ports of the pods that are placed, prepared for the question of each. */
export class Competitors {
  /** How many there are of a kind. */
  readonly #kinds = new Map<PodTraits, number>();
  readonly #count: number;
  /** By resource: the sums of the largest requests, of one pod, of two, and so on. */
  readonly #sums = new Map<string, bigint[]>();
  /** Kinds whose anti-affinity keeps others away. */
  readonly #repelling: readonly PodTraits[];

  /** @param pods those that are alike as the same object */
  constructor(pods: readonly PodTraits[]) {
    this.#count = pods.length;
    for (const pod of pods) this.#kinds.set(pod, (this.#kinds.get(pod) ?? 0) + 1);
    this.#repelling = [...this.#kinds.keys()].filter(({ antiAffinity }) => antiAffinity.length > 0);
    const names = new Set([...this.#kinds.keys()].flatMap(({ requests }) => [...requests.keys()]));
    for (const name of names) {
      const amounts = pods.map(({ requests }) => requests.get(name) ?? 0n);
      let sum = 0n;
      const sums = amounts
        .toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0))
        .map(amount => {
          sum += amount;
          return sum;
        });
      this.#sums.set(name, sums);
    }
  }

  /**
   * @param pod one of them; volumes are not asked about, nor spread and affinity among pods that differ in labels alone
   * @param nodes that take it, before any of them is placed
   */
  leaveRoomFor(pod: PodTraits, nodes: readonly NodeState[]): boolean {
    if (this.#concern(pod)) return false;
    // A pod is on one node.
    const isFilledByOne = this.#sharesPorts(pod);
    let needed = 0;
    for (const node of nodes) {
      needed += isFilledByOne ? 1 : this.#fewestToFill(node, pod);
      if (needed > this.#count - 1) return true;
    }
    const least = leastRoom(pod, nodes);
    let shares = 0;
    for (const [other, count] of this.#kinds) {
      shares += largestShare(other, pod, least) * (other === pod ? count - 1 : count);
    }
    return shares < nodes.length - ROUNDING;
  }

  /** How many of the others, the largest, leave the node without room for the pod; Infinity: all together do not. */
  #fewestToFill(node: NodeState, pod: PodTraits): number {
    let fewest = placesOf(node);
    for (const [name, request] of pod.requests) {
      const missing = freeOf(node, name) - request + 1n;
      fewest = Math.min(fewest, firstNotBelow(this.#sums.get(name) ?? [], missing) + 1);
    }
    return fewest > this.#count - 1 ? Infinity : fewest;
  }

  /** Whether a rule of the pod is about pods of another kind, or a rule of theirs keeps it away. */
  #concern(pod: PodTraits): boolean {
    const terms = [...pod.affinity, ...pod.antiAffinity];
    const isConcerned = (other: PodTraits) =>
      terms.some(term => isAbout(term, other)) ||
      (other.namespace === pod.namespace && pod.spread.some(({ selector }) => matchesQuery(selector, other.labels)));
    const others = terms.length + pod.spread.length === 0 ? [] : [...this.#kinds.keys()];
    return (
      others.some(other => !areAlike(other, pod) && isConcerned(other)) ||
      this.#repelling.some(other => !areAlike(other, pod) && other.antiAffinity.some(term => isAbout(term, pod)))
    );
  }

  #sharesPorts({ hostPorts }: PodTraits): boolean {
    if (hostPorts.length === 0) return false;
    let sharing = 0;
    for (const [other, count] of this.#kinds)
      if (judgePorts(hostPorts, other.hostPorts) !== undefined) sharing += count;
    return sharing > 1;
  }
}

/** Whether they are placed by the same rules, as the pods of a StatefulSet. */
function areAlike(a: PodTraits, b: PodTraits): boolean {
  return (
    a.namespace === b.namespace &&
    a.requests === b.requests &&
    a.placement === b.placement &&
    a.spread === b.spread &&
    a.affinity === b.affinity &&
    a.antiAffinity === b.antiAffinity
  );
}

/** What its namespaces are called is not asked. */
function isAbout({ selector, namespaces, namespaceSelector }: PodTerm, { namespace, labels }: PodTraits): boolean {
  if (!matchesQuery(selector, labels)) return false;
  return namespaceSelector !== undefined || namespaces.includes(namespace);
}

/** Position of the first one, in ascending order, that is not below the amount; Infinity: none is. */
function firstNotBelow(sums: readonly bigint[], amount: bigint): number {
  let [from, to] = [0, sums.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sums[middle] ?? 0n) < amount) from = middle + 1;
    else to = middle;
  }
  return from === sums.length ? Infinity : from;
}

/** What it takes to leave the pod no room, of each kind the least of all nodes. */
interface Room {
  places: number;
  /** By resource that the pod requests. */
  amounts: [name: string, amount: bigint][];
}

function leastRoom(pod: PodTraits, nodes: readonly NodeState[]): Room {
  const amounts = [...pod.requests].map(([name, request]): [string, bigint] => {
    const missing = nodes.map(node => freeOf(node, name) - request + 1n);
    return [name, missing.reduce((least, each) => (each < least ? each : least), missing[0] ?? 1n)];
  });
  return { places: nodes.reduce((least, node) => Math.min(least, placesOf(node)), Infinity), amounts };
}

/** The largest part of it that the other one takes on a node; all such parts on a node without room add up to 1 at least. */
function largestShare(other: PodTraits, pod: PodTraits, { places, amounts }: Room): number {
  if (judgePorts(pod.hostPorts, other.hostPorts) !== undefined) return 1;
  const parts = amounts.map(([name, amount]) => Number(other.requests.get(name) ?? 0n) / Number(amount));
  return Math.min(1, Math.max(1 / places, ...parts));
}

function freeOf({ allocatable, requested }: NodeState, name: string): bigint {
  return (allocatable.get(name) ?? 0n) - (requested.get(name) ?? 0n);
}

/** For pods. */
function placesOf({ allocatable, pods }: NodeState): number {
  return Number(allocatable.get('pods') ?? 0n) - pods;
}
