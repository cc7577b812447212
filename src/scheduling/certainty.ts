/** Whether one of several pods that are placed at the same time has a place whatever nodes the scheduler gives to the others. */
import { judgePorts } from './node/resources.ts';
import type { NodeState } from './snapshot.ts';
import type { PodTraits } from './types.ts';

/** Three shares of a third may add up to less than 1. */
const ROUNDING = 1e-6;

/** Requests and host ports of the pods that are placed, prepared for the question of each. */
export class Competitors {
  /** How many there are of a kind. */
  readonly #kinds = new Map<PodTraits, number>();
  readonly #count: number;
  /** By resource: the sums of the largest requests, of one pod, of two, and so on. */
  readonly #sums = new Map<string, bigint[]>();

  /** @param pods those that are alike as the same object */
  constructor(pods: readonly PodTraits[]) {
    this.#count = pods.length;
    for (const pod of pods) this.#kinds.set(pod, (this.#kinds.get(pod) ?? 0) + 1);
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
   * @param pod one of them; topology spread, pod affinity and volumes are not asked about
   * @param nodes that take it, before any of them is placed
   */
  leaveRoomFor(pod: PodTraits, nodes: readonly NodeState[]): boolean {
    // A pod is on one node.
    const isFilledByOne = this.#sharesPorts(pod);
    const needed = nodes.reduce((sum, node) => sum + (isFilledByOne ? 1 : this.#fewestToFill(node, pod)), 0);
    if (needed > this.#count - 1) return true;
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
      const at = this.#sums.get(name)?.findIndex(sum => sum >= missing) ?? -1;
      if (at !== -1) fewest = Math.min(fewest, at + 1);
    }
    return fewest > this.#count - 1 ? Infinity : fewest;
  }

  #sharesPorts({ hostPorts }: PodTraits): boolean {
    if (hostPorts.length === 0) return false;
    let sharing = 0;
    for (const [other, count] of this.#kinds)
      if (judgePorts(hostPorts, other.hostPorts) !== undefined) sharing += count;
    return sharing > 1;
  }
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
