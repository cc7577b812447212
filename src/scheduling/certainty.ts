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
    const needed = nodes.reduce((sum, node) => sum + this.#fewestToFill(node, pod), 0);
    if (needed > this.#count - 1) return true;
    let shares = 0;
    for (const [other, count] of this.#kinds) {
      const largest = nodes.reduce((max, node) => Math.max(max, shareOf(other, node, pod)), 0);
      shares += largest * (other === pod ? count - 1 : count);
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
    if (this.#sharesPorts(pod)) fewest = 1;
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

/** Which part of what leaves no room for the pod the other one takes; all such parts on a node add up to 1 at least. */
function shareOf(other: PodTraits, node: NodeState, pod: PodTraits): number {
  if (judgePorts(pod.hostPorts, other.hostPorts) !== undefined) return 1;
  let share = 1 / placesOf(node);
  for (const [name, request] of pod.requests) {
    const missing = freeOf(node, name) - request + 1n;
    share = Math.max(share, Number(other.requests.get(name) ?? 0n) / Number(missing));
  }
  return Math.min(1, share);
}

function freeOf({ allocatable, requested }: NodeState, name: string): bigint {
  return (allocatable.get(name) ?? 0n) - (requested.get(name) ?? 0n);
}

/** For pods. */
function placesOf({ allocatable, pods }: NodeState): number {
  return Number(allocatable.get('pods') ?? 0n) - pods;
}
