/** Whether evicted pods fit: group after group, and whether another scheduling order would place more. */
import { type Budget, budgetMatcher } from '../../nodepool/drain/budgets.ts';
import { podName } from '../../nodepool/drain/drain-filters.ts';
import { BY_ORDER } from '../../scheduling/bounds.ts';
import { Competitors, MovingNeighbours } from '../../scheduling/certainty.ts';
import { type FitReason, FitReasons } from '../../scheduling/fit-reasons.ts';
import { OpenNodes } from '../../scheduling/impact/open-nodes.ts';
import { Judge } from '../../scheduling/judge.ts';
import { roomFor } from '../../scheduling/node/resources.ts';
import { type PlacedReplicas, placeBy, settle } from '../../scheduling/place.ts';
import { siblingKinds } from '../../scheduling/pod/sibling-kinds.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import type { Pod, PodTraits } from '../../scheduling/types.ts';
import { PodVolumes } from '../../scheduling/volumes/volumes.ts';
import type { KeptPod } from '../shared/read-snapshot.ts';
import type { UnfitPods, WhyUnfit } from './unfit-lines.ts';

/** Pods of one owner that differ only in their names and in labels that no rule uses. */
interface PodKind {
  owner: string;
  pod: PodTraits;
  pods: readonly KeptPod[];
  from: Set<string>;
  /** In any scheduling order, as many pods fit as if there were no other pods. */
  isCertain: boolean;
  /** Pods that are not evicted yet may make nodes suitable, as they count for topology spread. */
  isEarly: boolean;
}

const UNCERTAIN: WhyUnfit = { words: BY_ORDER, nodes: undefined, details: [] };

export interface PlacedAll {
  withoutPlace: KeptPod[];
  uncertain: number;
  unfit: UnfitPods[];
  bound: number;
}

export interface PlaceContext {
  /** With the drained nodes cordoned, without the pods. Placed pods are removed again. */
  snapshot: Snapshot;
  /** Names of the nodes that stay. */
  others: readonly string[];
  /** Pods that may compete for the same room. */
  competing: readonly KeptPod[];
  nominated: readonly KeptPod[];
  /** All pods that the drain evicts. */
  evicted: readonly KeptPod[];
  budgets: readonly Budget[];
  ownerOf: (pod: Pod) => string;
}

export function placeAll(moving: readonly KeptPod[], context: PlaceContext): PlacedAll {
  const { snapshot, others } = context;
  const open = new OpenNodes(snapshot);
  const kinds = inOrder(podKindsOf(moving, context, open), open, snapshot);
  const undo = new UndoableSnapshot(snapshot);
  for (const { pod, node } of context.nominated) undo.add(pod, node);
  const rest = new Map<PodKind, number>();
  const unsure: UnfitPods[] = [];
  const put = (kind: PodKind, limit: number) => {
    const judge = new Judge(kind.pod, snapshot);
    const placed = placeBy(judge, open.to(kind.pod.placement).nodes, snapshot, { limit });
    undo.settle(kind.pod, placed);
    return placed;
  };
  for (const kind of kinds) {
    const { replicas, bounds } = put(kind, kind.pods.length);
    const some = kind.pods.slice(kind.isCertain ? bounds.least : 0, replicas);
    if (some.length > 0)
      unsure.push({ owner: kind.owner, names: namesOfAll(some), reasons: [UNCERTAIN], mayFit: true });
    if (replicas < kind.pods.length) rest.set(kind, kind.pods.length - replicas);
  }
  retry(rest, (kind, count) => {
    const { replicas } = put(kind, count);
    const names = namesOfAll(kind.pods.slice(kind.pods.length - count).slice(0, replicas));
    if (replicas > 0) unsure.push({ owner: kind.owner, names, reasons: [UNCERTAIN], mayFit: true });
    return replicas;
  });
  const reasons = new Map([...rest.keys()].map(kind => [kind, whyNoMore(kind.pod, others, snapshot)]));
  undo.undo();
  const neighbours = new MovingNeighbours([...kinds.map(({ pod }) => pod), ...context.competing.map(({ pod }) => pod)]);
  const found: PlacedAll = { withoutPlace: [], uncertain: 0, unfit: [], bound: 0 };
  const mayFit: UnfitPods[] = [];
  for (const [kind, count] of rest) {
    const { owner, pod, pods } = kind;
    const isBound = isBoundTo(kind, new PodVolumes(pod, snapshot));
    const most = mostAlone(kind, open.to(pod.placement).nodes, { snapshot, neighbours });
    const unplaced = pods.slice(pods.length - count);
    const never = unplaced.slice(0, Math.max(0, pods.length - most));
    const of = { owner, reasons: reasons.get(kind) ?? [] };
    if (never.length > 0) found.unfit.push({ ...of, names: namesOfAll(never) });
    const maybe = unplaced.slice(never.length);
    if (maybe.length > 0) mayFit.push({ ...of, names: namesOfAll(maybe), mayFit: true });
    if (isBound) found.bound += never.length;
    found.withoutPlace.push(...never);
  }
  found.uncertain = [...unsure, ...mayFit].reduce((sum, { names }) => sum + names.length, 0);
  // If some pods fit nowhere, they are the reason to refuse.
  found.unfit.push(...mayFit, ...(found.unfit.length > 0 ? [] : unsure));
  return found;
}

/** Pods with affinity to others may fit once those are placed. @param put returns how many it places */
function retry(rest: Map<PodKind, number>, put: (kind: PodKind, count: number) => number): void {
  for (let isPlaced = true; isPlaced; ) {
    isPlaced = false;
    for (const [kind, count] of rest) {
      if (kind.pod.affinity.length + kind.pod.spread.length === 0) continue;
      const replicas = put(kind, count);
      if (replicas === 0) continue;
      isPlaced = true;
      if (replicas === count) rest.delete(kind);
      else rest.set(kind, count - replicas);
    }
  }
}

/** The maximum number of pods of the group that fit, wherever the others are. */
function mostAlone(
  { pod, pods, isEarly }: PodKind,
  nodes: readonly string[],
  { snapshot, neighbours }: { snapshot: Snapshot; neighbours: MovingNeighbours },
): number {
  const judge = new Judge(pod, snapshot);
  const limit = pods.length;
  if (!isEarly && !neighbours.mayHelp(pod)) return placeBy(judge, nodes, snapshot, { limit }).bounds.most;
  let room = 0;
  for (const name of nodes) {
    const state = snapshot.nodes.get(name);
    if (state !== undefined && judge.isAllowed(name)) room += roomFor(pod.requests, state);
    if (room >= limit) return limit;
  }
  return room;
}

/** A snapshot whose placements can be undone. */
class UndoableSnapshot {
  readonly #snapshot: Snapshot;
  readonly #added: { pod: PodTraits; node: string }[] = [];
  readonly #taken: ReadonlySet<string>;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#taken = new Set(snapshot.takenVolumes);
  }

  add(pod: PodTraits, node: string): void {
    this.#snapshot.add(pod, node);
    this.#added.push({ pod, node });
  }

  settle(pod: PodTraits, placed: PlacedReplicas): void {
    settle(pod, placed, this.#snapshot);
    for (const [node, count] of placed.byNode) for (let at = 0; at < count; at++) this.#added.push({ pod, node });
  }

  undo(): void {
    for (const { pod, node } of this.#added) this.#snapshot.remove(pod, node);
    for (const volume of this.#snapshot.takenVolumes)
      if (!this.#taken.has(volume)) this.#snapshot.takenVolumes.delete(volume);
  }
}

function podKindsOf(
  moving: readonly KeptPod[],
  { snapshot, competing, evicted, budgets, ownerOf }: PlaceContext,
  open: OpenNodes,
): PodKind[] {
  const traits = ({ pod }: KeptPod) => snapshot.parts.traits({ ...pod, isTerminating: false });
  const all = [...moving, ...competing].map(each => [each, traits(each)] as const);
  const kindOf = siblingKinds(
    all.map(([, pod]) => pod),
    snapshot,
  );
  const kinds = new Map(all.map(([each, pod]) => [each, kindOf(pod)]));
  const counts = new Map([...Map.groupBy(kinds.values(), kind => kind)].map(([kind, { length }]) => [kind, length]));
  const competitors = new Competitors(counts, snapshot, open);
  const leaving = new MovingNeighbours(evicted.map(each => kindOf(traits(each))));
  const budgetsOf = budgetMatcher(budgets);
  return [...Map.groupBy(moving, ({ pod }) => ownerOf(pod))].flatMap(([owner, group]) => {
    const alike = Map.groupBy(group, each => kinds.get(each) ?? each.pod);
    return [...alike].map(([pod, pods]): PodKind => {
      const from = new Set(pods.map(({ node }) => node));
      // With a budget, the drain may wait for a pod that must be near a pod that is not evicted yet.
      const mayWait = leaving.areNear(pod) && pods.some(each => budgetsOf(each.pod).length > 0);
      const isEarly = leaving.mayHelp(pod);
      return { owner, pod, pods, from, isEarly, isCertain: !mayWait && competitors.leaveRoomFor(pod, pods.length) };
    });
  });
}

/** Pods that fewest nodes accept come first, then the largest: this order places the most pods. */
function inOrder(kinds: readonly PodKind[], open: OpenNodes, snapshot: Snapshot): PodKind[] {
  const takers = new Map(
    kinds.map(kind => {
      const { length } = open.to(kind.pod.placement).nodes;
      const reached = kind.pod.claims.length === 0 ? undefined : new PodVolumes(kind.pod, snapshot).nodes?.length;
      return [kind, Math.min(length, reached ?? Infinity)];
    }),
  );
  const takersOf = (kind: PodKind) => takers.get(kind) ?? 0;
  const size = ({ pod }: PodKind) =>
    Number(pod.requests.get('cpu') ?? 0n) * 2 ** 20 + Number(pod.requests.get('memory') ?? 0n);
  return kinds.toSorted((a, b) => takersOf(a) - takersOf(b) || size(b) - size(a));
}

/** Whether their volumes can only be reached from the node that they run on. */
function isBoundTo({ from }: PodKind, volumes: PodVolumes): boolean {
  return from.size === 1 && volumes.nodes?.every(node => from.has(node)) === true;
}

function whyNoMore(pod: PodTraits, others: readonly string[], snapshot: Snapshot): FitReason[] {
  const judge = new Judge(pod, snapshot);
  const reasons = new FitReasons();
  for (const node of others) reasons.add(judge.firstWhyNot(node));
  return reasons.list();
}

export function namesOfAll(pods: readonly KeptPod[]): string[] {
  return pods.map(({ pod }) => podName(pod));
}
