/** Whether pods that are scheduled at the same time fit, whatever nodes the scheduler gives to the others. */
import { ownValue } from '../nodepool/json.ts';
import { type LabelQuery, matchesQuery } from '../nodepool/membership/label-query.ts';
import type { OpenNodes } from './impact/open-nodes.ts';
import { Judge } from './judge.ts';
import { ItemsByLabel, ItemsBySelector } from './node/label-index.ts';
import { judgePorts, roomFor } from './node/resources.ts';
import type { Requests } from './pod/requests.ts';
import type { NodeState, Snapshot } from './snapshot.ts';
import type { PodTerm, PodTraits } from './types.ts';
import { disksClash } from './volumes/storage.ts';
import { defaultClass, PodVolumes } from './volumes/volumes.ts';

/** Three thirds may add up to less than 1. */
const ROUNDING = 1e-6;

/** With more different requests, pods of about the same size share an answer. */
const MAX_SIZES = 64;
const STEPS_PER_DOUBLING = 4;
const EXACT_COUNT = 16;

/** Requests of about the same size. */
interface Size {
  id: number;
  /** For each resource, the least and the most that a pod requests. */
  least: Map<string, bigint>;
  most: Map<string, bigint>;
}

/** What a pod occupies on a node. */
type NodeUse = Pick<PodTraits, 'requests' | 'hostPorts' | 'disks'>;
type Excluding = Pick<PodTraits, 'hostPorts' | 'disks'>;

/** The pods to place, indexed for queries about each kind. */
export class Competitors {
  /** The number of pods of each kind. */
  readonly #kinds: ReadonlyMap<PodTraits, number>;
  readonly #count: number;
  readonly #snapshot: Snapshot;
  readonly #open: OpenNodes;
  readonly #sizes: ReadonlyMap<Requests, Size>;
  readonly #answers = new Map<string, boolean>();
  /** By resource, the largest requests first. */
  readonly #sums: ReadonlyMap<string, readonly SumsOfAlike[]>;
  /** How many pods occupy the same on a node. */
  readonly #uses: readonly { use: NodeUse; count: number }[];
  readonly #byLabels = new ItemsByLabel<PodTraits>();
  readonly #repelling = new ItemsBySelector<{ term: PodTerm; kind: PodTraits }>();
  /** The number of kinds that wait for a volume of a class, or for the same claim. */
  readonly #waiting = new Map<string, number>();

  /**
   * @param kinds number of pods of each kind, which shares the snapshot's parts
   * @param snapshot without these pods
   * @param open for that snapshot
   */
  constructor(kinds: ReadonlyMap<PodTraits, number>, snapshot: Snapshot, open: OpenNodes) {
    this.#snapshot = snapshot;
    this.#open = open;
    this.#sizes = sizesOf([...kinds.keys()].map(({ requests }) => requests));
    // Pods that no node takes leave their room to others.
    this.#kinds = new Map([...kinds].filter(([kind]) => this.#isTaken(kind)));
    this.#count = [...this.#kinds.values()].reduce((sum, count) => sum + count, 0);
    this.#sums = sumsOf(this.#kinds);
    this.#uses = [...Map.groupBy(this.#kinds, ([kind]) => this.#useKey(kind)).values()].flatMap(alike => {
      const count = alike.reduce((sum, [, each]) => sum + each, 0);
      return alike.slice(0, 1).map(([kind]) => ({ use: { ...kind, requests: this.#sizeOf(kind).most }, count }));
    });
    for (const kind of this.#kinds.keys()) {
      this.#byLabels.add(kind);
      for (const term of kind.antiAffinity) this.#repelling.add(term.selector, { term, kind });
      for (const key of waitsFor(kind, snapshot)) this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1);
    }
  }

  /**
   * Whether the placement of the other pods does not affect pods of a kind, so that its result alone holds among all.
   * @param count of pods that are placed together
   */
  leaveRoomFor(pod: PodTraits, count: number): boolean {
    if (!this.#kinds.has(pod) || count === this.#count) return true;
    const waited = waitsFor(pod, this.#snapshot);
    if (waited.some(key => (this.#waiting.get(key) ?? 0) > 1)) return false;
    const related = this.#related(pod);
    if (related === undefined) return false;
    const others = related.reduce((sum, kind) => sum + this.#countOf(kind), related.includes(pod) ? -1 : 0);
    if (others === 0 && waited.length === 0) return this.#hasOwnRoom(pod);
    const isAlone = count === this.#countOf(pod) && related.every(kind => kind === pod);
    // If the placement of one pod affects the next, the number of open nodes is not sufficient.
    return (isAlone && this.#isNeverFull(pod)) || (waited.length === 0 && this.#isFar(pod, others));
  }

  /** For a pod that the same nodes accept wherever the others are, as long as they have room. */
  #hasOwnRoom(pod: PodTraits): boolean {
    const isRoomy = this.#isRoomy(pod);
    if (this.#isTakenByAll(pod)) return isRoomy;
    // If no node takes it, the other pods change nothing.
    if (!isRoomy) return this.#takersOf(pod).next().done === true;
    if (pod.claims.length === 0 && this.#isFar(pod, 0)) return true;
    return this.#isMoreThanFilled(this.#takersOf(pod), pod, pod.requests) ?? true;
  }

  #countOf(kind: PodTraits): number {
    return this.#kinds.get(kind) ?? 0;
  }

  /** Kinds that the pod's rules select, or whose rules exclude it, maybe its own. Undefined: not all are alike. */
  #related(pod: PodTraits): PodTraits[] | undefined {
    const found = new Set<PodTraits>();
    for (const kind of this.#allRelated(pod)) {
      // The first one is enough: there may be thousands.
      if (!areAlike(kind, pod)) return undefined;
      found.add(kind);
    }
    return [...found];
  }

  *#allRelated(pod: PodTraits): Generator<PodTraits> {
    for (const term of [...pod.affinity, ...pod.antiAffinity])
      for (const kind of this.#byLabels.near(term.selector)) if (isAbout(term, kind)) yield kind;
    for (const { selector } of pod.spread)
      for (const kind of this.#byLabels.near(selector)) if (isCounted(selector, kind, pod)) yield kind;
    for (const { term, kind } of this.#repelling.near(pod.labels)) if (isAbout(term, pod)) yield kind;
  }

  /** Whether a pod with only anti-affinity fits: each pod excludes at most one domain, and none can fill the others. */
  #isFar(pod: PodTraits, others: number): boolean {
    const [key, ...more] = new Set(pod.antiAffinity.map(({ topologyKey }) => topologyKey));
    if (key === undefined || more.length + pod.affinity.length + pod.spread.length > 0) return false;
    if (!this.#isRoomy(pod)) return false;
    const running = pod.claims.length > 0 ? undefined : this.#runningFar(pod, key);
    if (running === undefined) return this.#isMoreThanClosed(this.#takersOf(pod), pod, { key, closed: others });
    const closed = roundedUp(others + running);
    return this.#answer(`far ${key} ${closed}`, pod, () =>
      this.#isMoreThanClosed(withRoom(this.#sizeOf(pod).most, pod, this.#nodesOf(pod)), pod, { key, closed }),
    );
  }

  /** The number of running pods that its anti-affinity concerns; undefined: one has another topology key. */
  #runningFar({ labels, antiAffinity }: PodTraits, key: string): number | undefined {
    const refusing = this.#snapshot.antiAffinity(labels).filter(({ nodes }) => nodes.length > 0);
    if (refusing.some(({ term }) => term.topologyKey !== key)) return undefined;
    const groups = new Set(
      antiAffinity.flatMap(({ selector }) =>
        this.#snapshot.groups(selector).filter(group => matchesQuery(selector, group.labels)),
      ),
    );
    let running = 0;
    for (const { nodes } of refusing) running += nodes.length;
    for (const group of groups) running += group.running.length + group.terminating.length;
    return running;
  }

  /** Whether other pods cannot fill the nodes outside of so many closed domains, whichever these are. */
  #isMoreThanClosed(
    nodes: Iterable<NodeState>,
    pod: PodTraits,
    { key, closed }: { key: string; closed: number },
  ): boolean {
    const { most } = this.#sizeOf(pod);
    const isFilledByOne = this.#excluding(pod) > 1;
    const toFill = new Map<string, number>();
    for (const state of nodes) {
      const domain = ownValue(state.node.labels, key) ?? '';
      toFill.set(domain, (toFill.get(domain) ?? 0) + (isFilledByOne ? 1 : this.#fewestToFill(state, most)));
    }
    const open = [...toFill.values()].sort((a, b) => (a === b ? 0 : b - a)).slice(closed);
    return open.reduce((sum, needed) => sum + needed, 0) > this.#count - 1;
  }

  // Pods of the same size share an answer if the same nodes accept them.

  #answer(question: string, pod: PodTraits, find: () => boolean): boolean {
    const key = `${question} ${this.#snapshot.parts.id(pod.placement)} ${this.#useKey(pod)}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const found = find();
    this.#answers.set(key, found);
    return found;
  }

  #sizeOf({ requests }: PodTraits): Size {
    const size = this.#sizes.get(requests);
    if (size === undefined) throw new RangeError('the requests are those of no kind');
    return size;
  }

  #useKey(pod: PodTraits): string {
    const { parts } = this.#snapshot;
    return `${this.#sizeOf(pod).id} ${parts.id(pod.hostPorts)} ${parts.id(pod.disks)}`;
  }

  /** Whether the other pods cannot fill all of its nodes. */
  #isRoomy(pod: PodTraits): boolean {
    return this.#answer('room', pod, () => {
      return this.#isMoreThanFilled(this.#nodesOf(pod), pod, this.#sizeOf(pod).most) ?? false;
    });
  }

  #isTaken(pod: PodTraits): boolean {
    return this.#answer('taken', pod, () => {
      for (const _ of withRoom(this.#sizeOf(pod).least, pod, this.#nodesOf(pod))) return true;
      return false;
    });
  }

  /** Whether all pods together fit on each of its nodes, and no other kind excludes it from a node. */
  #isNeverFull(pod: PodTraits): boolean {
    if (this.#excluding(pod) > this.#countOf(pod)) return false;
    return this.#answer('never full', pod, () => {
      const sums = [...pod.requests.keys()].map(name => ({ name, sum: totalOf(this.#sums.get(name)) }));
      for (const state of withRoom(this.#sizeOf(pod).least, pod, this.#nodesOf(pod))) {
        if (placesOf(state) < this.#count || sums.some(({ name, sum }) => freeOf(state, name) < sum)) return false;
      }
      return true;
    });
  }

  /** Whether the others cannot fill all of the nodes; undefined: none has room. @param requests at least the pod's */
  #isMoreThanFilled(nodes: Iterable<NodeState>, pod: PodTraits, requests: Requests): boolean | undefined {
    // A pod runs on only one node.
    const isFilledByOne = this.#excluding(pod) > 1;
    const takers: NodeState[] = [];
    let needed = 0;
    for (const node of withRoom(requests, pod, nodes)) {
      needed += isFilledByOne ? 1 : this.#fewestToFill(node, requests);
      if (needed > this.#count - 1) return true;
      takers.push(node);
    }
    if (takers.length === 0) return undefined;
    const { hostPorts, disks } = pod;
    const least = leastRoom(requests, takers);
    const share = (of: Requests, use: NodeUse) =>
      largestShare({ ...use, requests: of }, { hostPorts, disks, requests }, least);
    // The pod itself is not one of the others.
    let shares = -share(this.#sizeOf(pod).least, pod);
    for (const { use, count } of this.#uses) shares += share(use.requests, use) * count;
    return shares < takers.length - ROUNDING;
  }

  /** The fewest other pods, largest first, that leave no room for these requests; Infinity: there are too few. */
  #fewestToFill(node: NodeState, requests: Requests): number {
    let fewest = placesOf(node);
    for (const [name, request] of requests) {
      const missing = freeOf(node, name) - request + 1n;
      fewest = Math.min(fewest, fewestPods(this.#sums.get(name) ?? [], missing));
    }
    return fewest > this.#count - 1 ? Infinity : fewest;
  }

  /** How many pods, including itself, exclude it from their node by a host port or a disk. */
  #excluding(pod: Excluding): number {
    if (pod.hostPorts.length + pod.disks.length === 0) return 0;
    return this.#uses.reduce((sum, { use, count }) => (excludes(use, pod) ? sum + count : sum), 0);
  }

  /** Only by labels, taints and affinity. */
  *#nodesOf({ placement }: PodTraits): Generator<NodeState> {
    const { nodes, returns } = this.#open.to(placement);
    for (const names of [nodes, returns]) {
      for (const name of names) {
        const state = this.#snapshot.nodes.get(name);
        if (state !== undefined) yield state;
      }
    }
  }

  /** By all rules. */
  *#takersOf(pod: PodTraits): Generator<NodeState> {
    const judge = new Judge(pod, this.#snapshot);
    if (judge.refusal !== undefined || judge.volumes.judgeUse() !== undefined) return;
    for (const state of withRoom(pod.requests, pod, this.#nodesOf(pod))) if (judge.takesNext(state.node)) yield state;
  }

  /** Whether all nodes of #nodesOf() with room accept it. */
  #isTakenByAll({ labels, claims, spread, affinity, antiAffinity }: PodTraits): boolean {
    if (claims.length + spread.length + affinity.length + antiAffinity.length > 0) return false;
    return this.#snapshot.antiAffinity(labels).every(({ nodes }) => nodes.length === 0);
  }
}

/** By identity of the requests in the pods. */
function sizesOf(all: readonly Requests[]): Map<Requests, Size> {
  const unique = [...new Set(all)];
  const keyOf =
    unique.length <= MAX_SIZES
      ? (_: Requests, at: number) => `${at}`
      : (requests: Requests) => [...requests].map(([name, amount]) => `${name} ${sizeStepOf(amount)}`).join();
  const sizes = new Map<string, Size>();
  return new Map(
    unique.map((requests, at) => {
      const key = keyOf(requests, at);
      const size = sizes.get(key) ?? { id: sizes.size, least: new Map(requests), most: new Map(requests) };
      sizes.set(key, size);
      for (const [name, amount] of requests) {
        if (amount < (size.least.get(name) ?? amount)) size.least.set(name, amount);
        if (amount > (size.most.get(name) ?? amount)) size.most.set(name, amount);
      }
      return [requests, size];
    }),
  );
}

/** Rounding limits the number of different answers. */
function roundedUp(count: number): number {
  return count <= EXACT_COUNT ? count : 2 ** Math.ceil(Math.log2(count));
}

function sizeStepOf(amount: bigint): number {
  return Math.floor(Math.log2(Number(amount)) * STEPS_PER_DOUBLING);
}

/** Pods that request the same of a resource, after those that request more. */
interface SumsOfAlike {
  amount: bigint;
  count: number;
  /** Of the pods before them. */
  before: { pods: number; sum: bigint };
}

function sumsOf(kinds: ReadonlyMap<PodTraits, number>): Map<string, SumsOfAlike[]> {
  const byName = new Map<string, Map<bigint, number>>();
  for (const [{ requests }, count] of kinds) {
    for (const [name, amount] of requests) {
      const counts = byName.get(name) ?? new Map<bigint, number>();
      byName.set(name, counts);
      counts.set(amount, (counts.get(amount) ?? 0) + count);
    }
  }
  return new Map([...byName].map(([name, counts]) => [name, inOrder(counts)]));
}

/** @param counts of pods, by what they request */
function inOrder(counts: ReadonlyMap<bigint, number>): SumsOfAlike[] {
  let [pods, sum] = [0, 0n];
  return [...counts]
    .sort(([a], [b]) => (a > b ? -1 : a < b ? 1 : 0))
    .map(([amount, count]) => {
      const alike = { amount, count, before: { pods, sum } };
      pods += count;
      sum += amount * BigInt(count);
      return alike;
    });
}

function totalOf(sums: readonly SumsOfAlike[] | undefined): bigint {
  const last = sums?.at(-1);
  return last === undefined ? 0n : last.before.sum + last.amount * BigInt(last.count);
}

/** Whether the same rules apply to both, as for pods of a StatefulSet. */
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

/** Ignores the labels of namespaces. */
function isAbout({ selector, namespaces, namespaceSelector }: PodTerm, { namespace, labels }: PodTraits): boolean {
  if (!matchesQuery(selector, labels)) return false;
  return namespaceSelector !== undefined || namespaces.includes(namespace);
}

/** For unbound claims, unless their volume can be created anywhere: claims and classes that others may compete for. */
function waitsFor(pod: PodTraits, snapshot: Snapshot): string[] {
  if (pod.claims.length === 0 || !new PodVolumes(pod, snapshot).isSelfMatching) return [];
  const { storage } = snapshot;
  return pod.claims.flatMap(({ name, template }) => {
    if (template !== undefined) return `class ${template.storageClassName ?? defaultClass(storage)}`;
    const claim = storage.claims.get(`${pod.namespace}/${name}`);
    return claim === undefined || claim.isBound ? [] : [`claim ${pod.namespace}/${name}`, `class ${claim.className}`];
  });
}

/** Whether they cannot share a node, whatever room it has. */
function excludes(a: Excluding, b: Excluding): boolean {
  return judgePorts(a.hostPorts, b.hostPorts) !== undefined || disksClash(a.disks, b.disks) !== undefined;
}

function* withRoom(requests: Requests, pod: Excluding, nodes: Iterable<NodeState>): Generator<NodeState> {
  for (const state of nodes) {
    const isOpen = roomFor(requests, state) > 0 && !excludes(state, pod);
    if (isOpen) yield state;
  }
}

/** How many pods, largest first, request at least the amount together; Infinity: all request less. */
function fewestPods(sums: readonly SumsOfAlike[], amount: bigint): number {
  if (totalOf(sums) < amount || sums.length === 0) return Infinity;
  if (amount <= 0n) return 1;
  let [from, to] = [0, sums.length - 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sums[middle + 1]?.before.sum ?? 0n) < amount) from = middle + 1;
    else to = middle;
  }
  const found = sums[from];
  if (found === undefined) return Infinity;
  const missing = amount - found.before.sum;
  return found.before.pods + Number((missing + found.amount - 1n) / found.amount);
}

/** What other pods must occupy so that the pod does not fit: for each resource the minimum of all nodes. */
interface Room {
  places: number;
  /** For each resource that the pod requests. */
  amounts: [name: string, amount: bigint][];
}

function leastRoom(requests: Requests, nodes: readonly NodeState[]): Room {
  const amounts = [...requests].map(([name, request]): [string, bigint] => {
    let least: bigint | undefined;
    for (const node of nodes) {
      const missing = freeOf(node, name) - request + 1n;
      if (least === undefined || missing < least) least = missing;
    }
    return [name, least ?? 1n];
  });
  return { places: nodes.reduce((least, node) => Math.min(least, placesOf(node)), Infinity), amounts };
}

/** The largest share of it that the other pod can occupy; on a full node these shares add up to at least 1. */
function largestShare(other: NodeUse, pod: NodeUse, { places, amounts }: Room): number {
  if (excludes(other, pod)) return 1;
  const parts = amounts.map(([name, amount]) => Number(other.requests.get(name) ?? 0n) / Number(amount));
  return Math.min(1, Math.max(1 / places, ...parts));
}

function freeOf({ allocatable, requested }: NodeState, name: string): bigint {
  return (allocatable.get(name) ?? 0n) - (requested.get(name) ?? 0n);
}

/** Free pod slots. */
function placesOf({ allocatable, pods }: NodeState): number {
  return Number(allocatable.get('pods') ?? 0n) - pods;
}

/** Pods that move at the same time, or one after the other, indexed by labels. */
export class MovingNeighbours {
  readonly #byLabels = new ItemsByLabel<PodTraits>();
  readonly #several = new Set<PodTraits>();

  /** @param moving equal pods are the same object if they are placed together */
  constructor(moving: Iterable<PodTraits>) {
    const known = new Set<PodTraits>();
    for (const pod of moving) {
      if (known.has(pod)) this.#several.add(pod);
      else this.#byLabels.add(pod);
      known.add(pod);
    }
  }

  /** Whether the pod has affinity to some of them. */
  areNear({ affinity }: PodTraits): boolean {
    return affinity.some(term => this.#byLabels.near(term.selector).some(pod => isAbout(term, pod)));
  }

  /** Whether other pods may make nodes suitable for the pod. */
  mayHelp(pod: PodTraits): boolean {
    const isOther = (each: PodTraits) => each !== pod || this.#several.has(pod);
    return (
      pod.affinity.some(term =>
        this.#byLabels.near(term.selector).some(each => isOther(each) && isAbout(term, each)),
      ) ||
      pod.spread.some(({ selector }) =>
        this.#byLabels.near(selector).some(each => isOther(each) && isCounted(selector, each, pod)),
      )
    );
  }
}

/** For the topology spread of the other pod. */
function isCounted(selector: LabelQuery | undefined, { namespace, labels }: PodTraits, by: PodTraits): boolean {
  return namespace === by.namespace && matchesQuery(selector, labels);
}
