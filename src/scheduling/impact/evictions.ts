/** Pods that a change evicts: where they can go, and which of them a drain never evicts. */
import type { Budget } from '../../nodepool/budgets.ts';
import { isSameTaint } from '../../nodepool/taint.ts';
import type { Node, Taint } from '../../nodepool/types.ts';
import type { Snapshot } from '../snapshot.ts';
import { Allowances, budgetImpacts, neverEvicted } from './budget-impacts.ts';
import { destinationOf, isInOrder, type Placed, placeAgain } from './destinations.ts';
import { isScheduled } from './leaving-pods.ts';
import type { PlannedChange } from './node-keys.ts';
import { OpenNodes } from './open-nodes.ts';
import { groupsOf } from './summary.ts';
import type { Evicted, EvictedPod, Impact, RunningPod } from './types.ts';

interface Among {
  changes: readonly PlannedChange[];
  budgets: readonly Budget[];
  /** See isInOrder(). */
  parallel: ReadonlySet<string>;
  /** The nodes after the change, with all pods. Evicted pods are moved in it. */
  snapshot: Snapshot;
  /** See Scene. */
  collect: () => void;
}

/** Owners whose pods leave a few MB of garbage when they are placed. */
const OWNERS_PER_COLLECTION = 1_000;

/** Takes evicted pods out of the snapshot. Returns those that a drain never evicts. */
export function takeAway(evicted: readonly EvictedPod[], { budgets, snapshot }: Among): Set<EvictedPod> {
  const never = new Set(evicted.filter(neverEvicted(budgets)));
  for (const each of evicted) if (!never.has(each)) snapshot.remove(each.pod, each.node);
  return never;
}

/** @param never of takeAway() */
export function placeEvicted(
  evicted: readonly EvictedPod[],
  never: ReadonlySet<EvictedPod>,
  { changes, budgets, parallel, snapshot, collect }: Among,
): Pick<Impact, 'evicted' | 'budgets'> {
  const drained = changes.filter(({ meanwhile }) => meanwhile !== undefined);
  for (const change of drained) setNode(snapshot, whileDrained(change));
  const groups = destinations(evicted, never, { snapshot, parallel, collect });
  const found = budgetImpacts(
    evicted,
    [
      ...groups.flatMap(({ next }) => unplaced(next)),
      ...evicted.filter(each => each.owner === undefined && !never.has(each)),
    ],
    budgets,
  );
  const drainedPods = new Set<RunningPod>(evicted.filter(({ eviction }) => eviction.isDrained));
  const allowances = new Allowances(found, budgets);
  const left = groups.map((group): EvictedGroup => {
    const { next, held } = group;
    if (next === undefined || next.pending.length === 0) return group;
    const goes = (each: RunningPod) => !drainedPods.has(each) || allowances.take(each.pod);
    const gone = { ...next, pending: next.pending.filter(goes), waiting: next.waiting.filter(goes) };
    return { ...group, held: held + unplaced(next).length - unplaced(gone).length, next: gone };
  });
  if (drained.length === 0) return { evicted: left.map(withoutPods), budgets: found };
  for (const { after } of drained) setNode(snapshot, after);
  return { evicted: withAfterDrain(left, snapshot, parallel), budgets: found };
}

/** Of one owner. */
interface EvictedGroup extends Omit<Evicted, 'next'> {
  next: Placed | undefined;
}

function withoutPods({ next, ...group }: EvictedGroup): Evicted {
  return { ...group, next: next && destinationOf(next) };
}

function unplaced(next: Placed | undefined): RunningPod[] {
  return next === undefined ? [] : [...next.pending, ...next.waiting];
}

function destinations(
  evicted: readonly EvictedPod[],
  never: ReadonlySet<EvictedPod>,
  { snapshot, parallel, collect }: Pick<Among, 'snapshot' | 'parallel' | 'collect'>,
): EvictedGroup[] {
  const open = new OpenNodes(snapshot);
  return groupsOf(evicted).map(({ impact, group }, at): EvictedGroup => {
    if (at % OWNERS_PER_COLLECTION === OWNERS_PER_COLLECTION - 1) collect();
    const times = group.flatMap(({ eviction: { seconds } }) => (seconds > 0 ? seconds : []));
    const going = group.filter(each => !never.has(each));
    const pods = going.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const isRecreated = impact.owner !== undefined && group.every(isScheduled);
    return {
      ...impact,
      ...(times.length === 0
        ? {}
        : { later: { pods: times.length, min: Math.min(...times), max: Math.max(...times) } }),
      mayReturn: isRecreated ? going.filter(({ eviction }) => eviction.mayReturn).length : 0,
      held: group.length - going.length,
      ...withoutReturning(isRecreated ? placeAgain(pods, snapshot, open, isInOrder(impact, parallel)) : undefined),
    };
  });
}

/** Those that come back to their nodes are neither Pending while these are drained, nor missed by their budgets. */
function withoutReturning(next: Placed | undefined): Pick<EvictedGroup, 'next' | 'pendingAfter'> {
  if (next === undefined) return { next, pendingAfter: 0 };
  const pending = next.pending.filter(({ eviction }) => eviction?.mayReturn !== true);
  return { next: { ...next, pending }, pendingAfter: next.pending.length - pending.length };
}

/**
 * As evicted pods see it: what keeps pods away meanwhile, and the taint that comes afterwards, which ends those that tolerate
 * the other one.
 */
function whileDrained({ meanwhile, after }: PlannedChange): Node {
  const isLeft = (taint: Taint) => after.taints.some(other => isSameTaint(other, taint));
  return { ...after, taints: [...after.taints, ...(meanwhile?.taints.filter(taint => !isLeft(taint)) ?? [])] };
}

function withAfterDrain(
  evicted: readonly EvictedGroup[],
  snapshot: Snapshot,
  parallel: ReadonlySet<string>,
): Evicted[] {
  const open = new OpenNodes(snapshot);
  return evicted.map(group => {
    const pending = unplaced(group.next);
    if (pending.length === 0) return withoutPods(group);
    const afterDrain = placeAgain(pending, snapshot, open, isInOrder(group, parallel));
    const isNone = afterDrain.nodes.size + afterDrain.returns.size === 0;
    return isNone ? withoutPods(group) : { ...withoutPods(group), afterDrain: destinationOf(afterDrain) };
  });
}

function setNode(snapshot: Snapshot, node: Node): void {
  const state = snapshot.nodes.get(node.name);
  if (state !== undefined) state.node = node;
}
