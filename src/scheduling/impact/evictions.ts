/** Pods that a change evicts: where they can go, and which of them a drain never evicts. */
import { type Budget, budgetMatcher } from '../../nodepool/drain/budgets.ts';
import { isSameTaint } from '../../nodepool/spec/taints.ts';
import type { Node, Taint } from '../../nodepool/types.ts';
import { Competitors, MovingNeighbours } from '../certainty.ts';
import { FitReasons } from '../fit-reasons.ts';
import { Judge } from '../judge.ts';
import { place, settle } from '../place.ts';
import { siblingKinds } from '../pod/sibling-kinds.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTraits } from '../types.ts';
import { BudgetAllowances, budgetImpacts, budgetName, neverEvicted, nodesOfHeld } from './evicted-budgets.ts';
import { isScheduled, recreatedPod } from './leaving-pods.ts';
import type { PlannedChange } from './node-keys.ts';
import { OpenNodes, type OpenTo } from './open-nodes.ts';
import { groupsOf } from './summary.ts';
import type {
  BudgetImpact,
  EvictedPod,
  EvictionImpact,
  Impact,
  PodDestination,
  PodsImpact,
  RunningPod,
} from './types.ts';

interface EvictionContext {
  changes: readonly PlannedChange[];
  budgets: readonly Budget[];
  /** StatefulSets that create pods in any order, as `namespace/name`. */
  parallel: ReadonlySet<string>;
  /** The nodes after the change, with all pods. Moves evicted pods. */
  snapshot: Snapshot;
  collect: () => void;
}

/** Placing the pods of so many owners leaves a few MB of garbage. */
const OWNERS_PER_COLLECTION = 1_000;
const PODS_PER_COLLECTION = 10_000;

/** Removes evicted pods from the snapshot. Returns those that a drain never evicts. */
export function takeAway(evicted: readonly EvictedPod[], { budgets, snapshot }: EvictionContext): Set<EvictedPod> {
  const never = new Set(evicted.filter(neverEvicted(budgets)));
  const blocked = new Set([...never].flatMap(({ node, eviction }) => (eviction.mayReturn ? [] : node)));
  for (const each of evicted) if (each.eviction.mayReturn && blocked.has(each.node)) never.add(each);
  for (const each of evicted) if (!never.has(each)) snapshot.remove(each.pod, each.node);
  return never;
}

/** @param never from takeAway() */
export function placeEvicted(
  evicted: readonly EvictedPod[],
  never: ReadonlySet<EvictedPod>,
  { changes, budgets, parallel, snapshot, collect }: EvictionContext,
): Pick<Impact, 'evicted' | 'budgets'> {
  const drained = changes.filter(({ meanwhile }) => meanwhile !== undefined);
  for (const change of drained) setNode(snapshot, whileDrained(change));
  const failed = ofFailedJobs(evicted.filter(each => !never.has(each)));
  const groups = destinations(evicted, { never, failed }, { budgets, snapshot, parallel, collect });
  const lost = [
    ...groups.flatMap(({ next }) => unplaced(next)),
    ...evicted.filter(each => each.owner === undefined && !never.has(each)),
    ...failed,
  ];
  const lostAfter = groups.flatMap(group => group.lostAfter);
  const found = budgetImpacts(evicted, lost, lostAfter, budgets);
  const drainedPods = new Set<RunningPod>(evicted.filter(({ eviction }) => eviction.isDrained));
  const allowances = new BudgetAllowances(found, budgets);
  const held = new Set<RunningPod>();
  const goes = (each: RunningPod) => {
    if (!drainedPods.has(each) || allowances.take(each.pod)) return true;
    held.add(each);
    return false;
  };
  const withHeld = groups.map((group): EvictedGroup => {
    const { next, blockedByBudget } = group;
    if (next === undefined || next.pending.length === 0) return group;
    const gone = { ...next, pending: next.pending.filter(goes), waiting: next.waiting.filter(goes) };
    return { ...group, blockedByBudget: blockedByBudget + unplaced(next).length - unplaced(gone).length, next: gone };
  });
  if (drained.length === 0) return { evicted: withHeld.map(withoutPods), budgets: found };
  const missing = groups.flatMap(({ next }) => unplaced(next));
  const behind = nodesOfHeld(held, missing, budgets);
  const isLast = (each: EvictedPod) =>
    behind.has(each.node) && each.eviction.mayReturn && !never.has(each) && !failed.has(each);
  const owners = behind.size === 0 ? [] : groupsOf(evicted);
  const afterBudgets = withHeld.map((group, at) => {
    const last = owners[at]?.group.filter(isLast) ?? [];
    return last.length === 0 ? group : withoutLast(group, last, behind);
  });
  for (const { after } of drained) setNode(snapshot, after);
  const impacts = withAfterDrain(afterBudgets, snapshot, parallel);
  const unsure = unsureBudgets(groups, impacts, budgets);
  return {
    evicted: impacts.map((each, at) => {
      const waits = withHeld[at]?.blockedByBudget !== each.blockedByBudget && unsure.names.size > 0;
      const isUnsure = waits || unplaced(groups[at]?.next).some(({ pod }) => unsure.of(pod));
      return each.blockedByBudget > 0 && isUnsure ? { ...each, mayNotBeBlocked: true } : each;
    }),
    budgets: withMaybeStuck(
      found.map(each => (each.kind === 'stuck' && unsure.names.has(each.budget) ? { ...each, certain: false } : each)),
      budgetImpacts(evicted, [...lost, ...groups.flatMap(({ next }) => next?.unsure ?? [])], lostAfter, budgets),
    ),
  };
}

/** @param atWorst the impacts if pods whose place is uncertain find none */
function withMaybeStuck(found: readonly BudgetImpact[], atWorst: readonly BudgetImpact[]): BudgetImpact[] {
  // A budget may also be undercut on nodes that are not drained.
  const isOfDrain = ({ kind }: BudgetImpact) => kind !== 'undercut' && kind !== 'several';
  return atWorst.map(worst => {
    const same = found.filter(each => each.budget === worst.budget);
    const known = isOfDrain(worst) ? same.find(isOfDrain) : same.find(({ kind }) => kind === worst.kind);
    const isWorse = worst.kind === 'stuck' && (known === undefined || known.kind === 'waits');
    return isWorse ? { ...worst, certain: false } : (known ?? worst);
  });
}

/**
 * Without pods that tolerate the stand-in taint, on nodes where others stay: those are evicted last (podsLeft()).
 * @param last these pods @param behind from nodesOfHeld()
 */
function withoutLast(
  group: EvictedGroup,
  last: readonly EvictedPod[],
  behind: ReadonlyMap<string, boolean>,
): EvictedGroup {
  const { next, lostAfter } = group;
  let left = Math.max(0, last.length - lostAfter.length);
  const nodes = new Map(next?.nodes);
  for (const [node, count] of nodes) {
    const fewer = Math.min(left, count);
    left -= fewer;
    if (fewer === count) nodes.delete(node);
    else nodes.set(node, count - fewer);
  }
  return {
    ...group,
    next: next && { ...next, nodes },
    lostAfter: lostAfter.slice(last.length),
    mayReturn: group.mayReturn - last.length,
    blockedByBudget: group.blockedByBudget + last.length,
    ...(last.every(({ node }) => behind.get(node)) ? {} : { mayNotBeBlocked: true }),
  };
}

/**
 * Budgets that may not block a drain: pods may fit once another node is drained, or in another scheduling order, or go
 * because they are unhealthy.
 */
function unsureBudgets(
  groups: readonly EvictedGroup[],
  impacts: readonly EvictionImpact[],
  budgets: readonly Budget[],
): { names: ReadonlySet<string>; of: (pod: PodTraits) => boolean } {
  const budgetsOf = budgetMatcher(budgets);
  const mayBeUnhealthy = ({ alwaysAllowsUnhealthy, status }: Budget) =>
    alwaysAllowsUnhealthy && status !== undefined && status.currentHealthy < status.expectedPods;
  const names = new Set(budgets.filter(mayBeUnhealthy).map(budgetName));
  for (const [at, { next }] of groups.entries()) {
    if (impacts[at]?.afterDrain === undefined && !next?.isContested && !next?.mayFit) continue;
    for (const { pod } of unplaced(next)) for (const budget of budgetsOf(pod)) names.add(budgetName(budget));
  }
  return { names, of: pod => budgetsOf(pod).some(budget => names.has(budgetName(budget))) };
}

/** Pods of one owner. */
interface EvictedGroup extends Omit<EvictionImpact, 'next' | 'pendingAfter'> {
  next: PlacedPods | undefined;
  /** The pods of `pendingAfter`. */
  lostAfter: readonly RunningPod[];
}

function withoutPods({ next, lostAfter, ...group }: EvictedGroup): EvictionImpact {
  return { ...group, next: next && destinationOf(next), pendingAfter: lostAfter.length };
}

function unplaced(next: PlacedPods | undefined): RunningPod[] {
  return next === undefined ? [] : [...next.pending, ...next.waiting];
}

function destinations(
  evicted: readonly EvictedPod[],
  { never, failed }: Record<'never' | 'failed', ReadonlySet<EvictedPod>>,
  { budgets, snapshot, parallel, collect }: Omit<EvictionContext, 'changes'>,
): EvictedGroup[] {
  const open = new OpenNodes(snapshot);
  const groups = groupsOf(evicted);
  const moving = evicted.filter(each => !never.has(each) && !failed.has(each) && each.owner !== undefined);
  const kindOf = recreatedKinds(moving, snapshot);
  // Each kind is found once, which leaves some kB of garbage.
  for (const [at, { pod }] of moving.entries()) {
    kindOf(pod);
    if (at % PODS_PER_COLLECTION === PODS_PER_COLLECTION - 1) collect();
  }
  const drained = evicted.filter(({ eviction }) => eviction.isDrained);
  const leaving = new MovingNeighbours(drained.map(({ pod }) => kindOf(pod)));
  // Computed before any of them is placed.
  const contested = new Set([...contestedPods(moving, kindOf, snapshot, open), ...waitingForLeaving(evicted, budgets)]);
  collect();
  return groups.map(({ impact, group }, at): EvictedGroup => {
    if (at % OWNERS_PER_COLLECTION === OWNERS_PER_COLLECTION - 1) collect();
    const times = group.flatMap(({ eviction: { seconds } }) => (seconds > 0 ? seconds : []));
    const going = group.filter(each => !never.has(each));
    const recreated = going.filter(each => !failed.has(each));
    const pods = recreated.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const isRecreated =
      impact.owner !== undefined && (recreated.length > 0 || failed.size === 0) && group.every(isScheduled);
    return {
      ...impact,
      ...(times.length === 0
        ? {}
        : { later: { pods: times.length, min: Math.min(...times), max: Math.max(...times) } }),
      failed: going.length - recreated.length,
      deletedWithJob: deletedWithJobs(going.filter(each => failed.has(each))),
      mayReturn: isRecreated ? recreated.filter(({ eviction }) => eviction.mayReturn).length : 0,
      blockedByBudget: group.length - going.length,
      ...withoutReturning(
        isRecreated
          ? placeAgain(pods, snapshot, open, { inOrder: isInOrder(impact, parallel), contested, leaving, kindOf })
          : undefined,
      ),
    };
  });
}

type KindOf = (pod: PodTraits) => PodTraits;

/** The traits with which pods are placed again, shared by pods of one controller that differ only in its labels. */
export function recreatedKinds(pods: readonly RunningPod[], snapshot: Snapshot): KindOf {
  const again = new Map<PodTraits, PodTraits>();
  for (const pod of new Set(pods.map(({ pod }) => pod))) again.set(pod, snapshot.parts.traits(recreatedPod(pod)));
  const kindOf = siblingKinds(again.values(), snapshot);
  return pod => kindOf(again.get(pod) ?? pod);
}

/** Pods that may not fit because of others, in some scheduling order. */
function contestedPods(pods: readonly EvictedPod[], kindOf: KindOf, snapshot: Snapshot, open: OpenNodes): EvictedPod[] {
  const kinds = new Map<PodTraits, number>();
  for (const { pod } of pods) kinds.set(kindOf(pod), (kinds.get(kindOf(pod)) ?? 0) + 1);
  const competitors = new Competitors(kinds, snapshot, open);
  const alike = groupsOf(pods).flatMap(({ group }) => [...Map.groupBy(group, ({ pod }) => kindOf(pod))]);
  return alike.flatMap(([kind, some]) => (competitors.leaveRoomFor(kind, some.length) ? [] : some));
}

/** A drain evicts pods one by one: with a budget, it may wait for a pod that must be near one not evicted yet. */
function waitingForLeaving(evicted: readonly EvictedPod[], budgets: readonly Budget[]): EvictedPod[] {
  const near = evicted.filter(({ pod, eviction }) => eviction.isDrained && pod.affinity.length > 0);
  if (near.length === 0) return [];
  const budgetsOf = budgetMatcher(budgets);
  const leaving = new MovingNeighbours(evicted.map(({ pod }) => pod));
  return near.filter(({ pod }) => budgetsOf(pod).length > 0 && leaving.areNear(pod));
}

/** Pods whose Job fails for good: an evicted pod counts as failed, by the Eviction API or a taint. */
function ofFailedJobs(evicted: readonly EvictedPod[]): Set<EvictedPod> {
  const ofJobs = evicted.filter(({ job }) => job !== undefined);
  const byJob = Map.groupBy(ofJobs, ({ pod, job }) => `${pod.namespace}/${job?.name}`);
  return new Set([...byJob.values()].filter(pods => pods.length > (pods[0]?.job?.failuresLeft ?? Infinity)).flat());
}

/** Number of other pods of the failing Jobs. Undefined: a Job's status counts fewer pods than fail. */
function deletedWithJobs(failed: readonly EvictedPod[]): number | undefined {
  let deleted = 0;
  for (const pods of Map.groupBy(failed, ({ job }) => job?.name).values()) {
    const active = pods[0]?.job?.active;
    if (active === undefined) continue;
    if (active < pods.length) return undefined;
    deleted += active - pods.length;
  }
  return deleted;
}

/** Pods that return to their nodes are not Pending during the drain, and budgets do not miss them. */
function withoutReturning(next: PlacedPods | undefined): Pick<EvictedGroup, 'next' | 'lostAfter'> {
  if (next === undefined) return { next, lostAfter: [] };
  const isBack = ({ eviction }: RunningPod) => eviction?.mayReturn === true;
  const [pending, lostAfter] = [next.pending.filter(each => !isBack(each)), next.pending.filter(isBack)];
  return { next: { ...next, pending }, lostAfter };
}

/** The node with all taints that evicted pods must tolerate: the stand-in taint, and the later one. */
function whileDrained({ meanwhile, after }: PlannedChange): Node {
  const isInAfter = (taint: Taint) => after.taints.some(other => isSameTaint(other, taint));
  return { ...after, taints: [...after.taints, ...(meanwhile?.taints.filter(taint => !isInAfter(taint)) ?? [])] };
}

function withAfterDrain(
  evicted: readonly EvictedGroup[],
  snapshot: Snapshot,
  parallel: ReadonlySet<string>,
): EvictionImpact[] {
  const open = new OpenNodes(snapshot);
  return evicted.map(group => {
    const pending = unplaced(group.next);
    if (pending.length === 0) return withoutPods(group);
    const kindOf = recreatedKinds(pending, snapshot);
    const afterDrain = placeAgain(pending, snapshot, open, { inOrder: isInOrder(group, parallel), kindOf });
    const isNone = afterDrain.nodes.size + afterDrain.returns.size === 0;
    return isNone ? withoutPods(group) : { ...withoutPods(group), afterDrain: destinationOf(afterDrain) };
  });
}

export function setNode(snapshot: Snapshot, node: Node): void {
  const state = snapshot.nodes.get(node.name);
  if (state !== undefined) state.node = node;
}

// Where the scheduler can put evicted pods, owner by owner: the first owners take the room.

/** Whether its controller creates pods one by one. @param parallel StatefulSets with podManagementPolicy Parallel */
export function isInOrder({ namespace, owner }: PodsImpact, parallel: ReadonlySet<string>): boolean {
  return owner?.kind === 'StatefulSet' && !parallel.has(`${namespace}/${owner.name}`);
}

/** A PodDestination that still has the pods, which the result of 50,000 pods does not need. */
interface PlacedPods extends Omit<PodDestination, 'pending' | 'waiting'> {
  /** Which pods of a kind are listed is arbitrary. */
  pending: readonly RunningPod[];
  waiting: readonly RunningPod[];
  /** Pods of `uncertain`. */
  unsure: readonly RunningPod[];
}

export function destinationOf({ pending, waiting, unsure: _, ...placed }: PlacedPods): PodDestination {
  return { ...placed, pending: pending.length, waiting: waiting.length };
}

interface PlaceAgainOptions {
  inOrder: boolean;
  contested?: ReadonlySet<RunningPod>;
  leaving?: MovingNeighbours;
  kindOf: KindOf;
}

/**
 * @param pods of one owner
 * @param snapshot without them; placed pods are added
 * @param open for that snapshot
 * @param inOrder see isInOrder()
 * @param contested see contestedPods()
 * @param leaving pods that are drained: until they are evicted, they may make nodes suitable
 * @param kindOf see recreatedKinds()
 */
export function placeAgain(
  pods: readonly RunningPod[],
  snapshot: Snapshot,
  open: OpenNodes,
  { inOrder, contested, leaving, kindOf }: PlaceAgainOptions,
): PlacedPods {
  const [nodes, returns] = [new Map<string, number>(), new Map<string, number>()];
  const pending: RunningPod[] = [];
  let reasons: FitReasons | undefined;
  let returnSeconds = Infinity;
  const unsure: RunningPod[] = [];
  let isContested = false;
  let mayFit = false;
  const waiting: RunningPod[] = [];
  // A pod that may return is running until then.
  const isBlocked = () => inOrder && pending.some(({ eviction }) => eviction?.mayReturn !== true);
  const groups = inOrder
    ? runsOf(
        pods.toSorted((a, b) => ordinal(a) - ordinal(b)),
        kindOf,
      )
    : Map.groupBy(pods, ({ pod }) => kindOf(pod)).values();
  for (const alike of groups) {
    const [first] = alike;
    if (first === undefined) continue;
    if (isBlocked()) {
      waiting.push(...alike);
      continue;
    }
    const pod = kindOf(first.pod);
    const to = open.to(pod.placement);
    returnSeconds = Math.min(returnSeconds, to.returnSeconds);
    let remaining = alike.length;
    const dependsOnOthers = contested?.has(first) === true;
    if (dependsOnOthers) isContested = true;
    for (const [taking, found] of [
      [to.nodes, nodes],
      [to.returns, returns],
    ] as const) {
      if (remaining === 0 || taking.length === 0) continue;
      const placed = place(pod, taking, snapshot, remaining);
      remaining -= placed.replicas;
      if (placed.bounds.most > placed.replicas) mayFit = true;
      const certain = dependsOnOthers ? 0 : placed.bounds.least;
      // Bounds do not matter for pods that will be evicted again anyway.
      if (found === nodes) unsure.push(...alike.slice(0, Math.max(0, placed.replicas - certain)));
      for (const [node, count] of placed.byNode) found.set(node, (found.get(node) ?? 0) + count);
      settle(pod, placed, snapshot);
    }
    if (remaining === 0) continue;
    if (leaving?.mayHelp(pod)) mayFit = true;
    for (const each of alike.slice(alike.length - remaining)) (isBlocked() ? waiting : pending).push(each);
    // Like the scheduler, for one pod only.
    reasons ??= whyPending(pod, to, snapshot);
  }
  return {
    ...{ nodes, returns, returnSeconds, uncertain: unsure.length, isContested, pending, waiting, unsure },
    reasons: reasons ?? new FitReasons(),
    ...(mayFit ? { mayFit } : {}),
  };
}

/** Groups consecutive pods of the same kind. */
function runsOf(pods: readonly RunningPod[], kindOf: KindOf): RunningPod[][] {
  const runs: RunningPod[][] = [];
  let before: PodTraits | undefined;
  for (const each of pods) {
    const kind = kindOf(each.pod);
    if (kind === before) runs.at(-1)?.push(each);
    else runs.push([each]);
    before = kind;
  }
  return runs;
}

function ordinal({ name }: RunningPod): number {
  return Number(name.slice(name.lastIndexOf('-') + 1)) || 0;
}

function whyPending(pod: PodTraits, { nodes, returns, refused }: OpenTo, snapshot: Snapshot): FitReasons {
  const judge = new Judge(pod, snapshot);
  if (judge.refusal === undefined && nodes.length + returns.length === 0) return refused;
  const reasons = new FitReasons();
  // A refusal of the pod itself precedes the rules of nodes.
  if (judge.refusal === undefined) reasons.addAll(refused);
  const judgedNodes = judge.refusal === undefined ? [...nodes, ...returns] : snapshot.nodes.keys();
  for (const node of judgedNodes) reasons.add(judge.firstWhyNot(node));
  return reasons;
}
