/** How the evictions of a change affect PodDisruptionBudgets. It is not known here which pods are Ready. */
import { type Budget, budgetMatcher, neverBecause, shortOf, whyNeverEvicted } from '../../nodepool/drain/budgets.ts';
import type { PodTraits } from '../types.ts';
import type { BudgetImpact, EvictedPod, RunningPod } from './types.ts';

/**
 * Sorted by name.
 * @param lost evicted pods that budgets miss afterwards: they stay Pending, or nothing recreates them
 * @param lostAfter pods that budgets miss once their own node has the taint, while others are still drained
 */
export function budgetImpacts(
  evicted: readonly EvictedPod[],
  lost: readonly RunningPod[],
  lostAfter: readonly RunningPod[],
  budgets: readonly Budget[],
): BudgetImpact[] {
  const budgetsOf = budgetMatcher(budgets);
  const all = new Map<Budget, number>();
  const drained = new Map<Budget, EvictedPod[]>();
  const several = new Map<string, BudgetImpact>();
  for (const each of evicted) {
    const matching = budgetsOf(each.pod);
    const [first, ...others] = matching;
    if (first === undefined) continue;
    if (!each.eviction.isDrained) for (const budget of matching) all.set(budget, (all.get(budget) ?? 0) + 1);
    else if (others.length === 0) {
      const pods = drained.get(first);
      if (pods === undefined) drained.set(first, [each]);
      else pods.push(each);
    } else {
      const [budget = '', ...more] = matching.map(budgetName).toSorted();
      const id = [budget, ...more].join();
      const pods = (several.get(id)?.pods ?? 0) + 1;
      several.set(id, { kind: 'several', budget, pods, others: more });
    }
  }
  const missed = { lost: lost.map(({ pod }) => pod), lostAfter: lostAfter.map(({ pod }) => pod) };
  const found = [
    ...[...all].flatMap(([budget, pods]) => undercut(budget, pods) ?? []),
    ...[...drained].flatMap(([budget, pods]) => blockedDrain(budget, pods, missed) ?? []),
    ...several.values(),
  ];
  return found.toSorted((a, b) => (a.budget < b.budget ? -1 : 1));
}

/** Evictions by taints ignore PodDisruptionBudgets. */
function undercut(budget: Budget, pods: number): BudgetImpact | undefined {
  const allowed = Math.max(0, budget.status?.disruptionsAllowed ?? 0);
  if (pods <= allowed) return undefined;
  return { kind: 'undercut', budget: budgetName(budget), pods, allowed };
}

function blockedDrain(
  budget: Budget,
  drained: readonly EvictedPod[],
  { lost, lostAfter }: Record<'lost' | 'lostAfter', readonly PodTraits[]>,
): BudgetImpact | undefined {
  const of = { budget: budgetName(budget), pods: drained.length };
  if (!hasHealthy(budget)) return undefined;
  const why = neverBecause(budget);
  if (why !== undefined) return { kind: 'never', ...of, why };
  const { status, syncError } = budget;
  if (status === undefined) return { kind: 'unknown', ...of, ...(syncError === undefined ? {} : { why: syncError }) };
  const { disruptionsAllowed, currentHealthy, desiredHealthy } = status;
  const stuckWithout = (missed: readonly PodTraits[]) => {
    const short = shortOf(budget, missed);
    const bare = drained.filter(({ owner }) => owner === undefined).length;
    const allowed = Math.max(0, currentHealthy - desiredHealthy);
    return short && { kind: 'stuck' as const, ...of, ...short, ...(bare === 0 ? {} : { notRecreated: bare }), allowed };
  };
  const stuck = stuckWithout(lost);
  if (stuck !== undefined) return stuck;
  const returning = returningTo(budget, drained);
  if (returning !== undefined) return returning;
  // The first nodes already have their taint while the budget still counts pods on the next ones.
  const hasNext = new Set(drained.map(({ node }) => node)).size > 1;
  const stuckLater = hasNext ? stuckWithout([...lost, ...lostAfter]) : undefined;
  if (stuckLater !== undefined) return { ...stuckLater, certain: false };
  if (disruptionsAllowed > 0) return undefined;
  return { kind: 'waits', ...of, healthy: currentHealthy, needs: desiredHealthy };
}

/** Returned pods are evicted once more, all pods of a node at once (reconciler/evict/node-drainer.ts). */
function returningTo(budget: Budget, drained: readonly EvictedPod[]): BudgetImpact | undefined {
  const { disruptionsAllowed = 0, expectedPods = 0, desiredHealthy = 0 } = budget.status ?? {};
  const allowed = Math.max(disruptionsAllowed, expectedPods - desiredHealthy);
  const back = drained.filter(({ eviction, owner }) => eviction.mayReturn && owner !== undefined);
  const over = [...Map.groupBy(back, ({ node }) => node)].filter(([, pods]) => pods.length > allowed);
  if (over.length === 0) return undefined;
  const pods = over.reduce((sum, [, some]) => sum + some.length, 0);
  const nodes = over.map(([node]) => node).toSorted();
  return { kind: 'returning', budget: budgetName(budget), pods, nodes, allowed };
}

/** Whether the Eviction API never evicts the pod: see `never`. */
export function neverEvicted(budgets: readonly Budget[]): (pod: EvictedPod) => boolean {
  const budgetsOf = budgetMatcher(budgets);
  return ({ pod, eviction }) => {
    const matching = budgetsOf(pod);
    return eviction.isDrained && whyNeverEvicted(matching, matching.some(hasHealthy)) !== undefined;
  };
}

/** False: the budget counts none of its pods, as it lets unhealthy ones go and all are. */
function hasHealthy({ alwaysAllowsUnhealthy, status }: Budget): boolean {
  return !alwaysAllowsUnhealthy || status?.currentHealthy !== 0;
}

/** Counts which pods that do not fit are evicted before their budget blocks. */
export class BudgetAllowances {
  readonly #remaining: Map<Budget, number>;
  readonly #budgetsOf: (pod: PodTraits) => Budget[];

  constructor(found: readonly BudgetImpact[], budgets: readonly Budget[]) {
    const allowed = new Map(found.flatMap(each => (each.kind === 'stuck' ? [[each.budget, each.allowed]] : [])));
    const stuck = budgets.filter(budget => allowed.has(budgetName(budget)));
    this.#remaining = new Map(stuck.map(budget => [budget, allowed.get(budgetName(budget)) ?? 0]));
    this.#budgetsOf = budgetMatcher(stuck);
  }

  /** Whether the budget allows one more eviction. */
  take(pod: PodTraits): boolean {
    const [budget] = this.#budgetsOf(pod);
    if (budget === undefined) return true;
    const remaining = this.#remaining.get(budget) ?? 0;
    this.#remaining.set(budget, remaining - 1);
    return remaining > 0;
  }
}

export function budgetName({ namespace, name }: Budget): string {
  return `${namespace}/${name}`;
}

/**
 * Nodes with pods that stay because of a budget. The value: whether that is certain, as too few such pods are on other
 * nodes. @param missing all pods that find no place
 */
export function nodesOfHeld(
  held: ReadonlySet<RunningPod>,
  missing: readonly RunningPod[],
  budgets: readonly Budget[],
): Map<string, boolean> {
  const budgetsOf = budgetMatcher(budgets);
  const found = new Map<string, boolean>();
  const stays = missing.filter(({ eviction }) => eviction?.isDrained && !eviction.mayReturn);
  for (const [budget, pods] of Map.groupBy(stays, ({ pod }) => budgetsOf(pod)[0])) {
    const count = pods.filter(each => held.has(each)).length;
    if (budget === undefined || count === 0) continue;
    for (const [node, here] of Map.groupBy(pods, each => each.node))
      found.set(node, found.get(node) === true || count > pods.length - here.length);
  }
  return found;
}
