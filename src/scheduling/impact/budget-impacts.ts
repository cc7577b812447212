/** What the evictions of a change mean to PodDisruptionBudgets. Whether pods are Ready is not known here. */
import { type Budget, budgetMatcher, neverBecause, shortOf, whyNeverEvicted } from '../../nodepool/budgets.ts';
import type { PodTraits } from '../types.ts';
import type { BudgetImpact, EvictedPod, RunningPod } from './types.ts';

/**
 * In the order of their names.
 * @param lost of the evicted pods, those that their budgets miss afterwards: they stay Pending, or nobody creates them again
 */
export function budgetImpacts(
  evicted: readonly EvictedPod[],
  lost: readonly RunningPod[],
  budgets: readonly Budget[],
): BudgetImpact[] {
  const budgetsOf = budgetMatcher(budgets);
  const all = new Map<Budget, number>();
  const drained = new Map<Budget, EvictedPod[]>();
  const several = new Map<string, BudgetImpact>();
  for (const each of evicted) {
    const own = budgetsOf(each.pod);
    const [first, ...others] = own;
    if (first === undefined) continue;
    if (!each.eviction.isDrained) for (const budget of own) all.set(budget, (all.get(budget) ?? 0) + 1);
    else if (others.length === 0) {
      const pods = drained.get(first);
      if (pods === undefined) drained.set(first, [each]);
      else pods.push(each);
    } else {
      const [budget = '', ...more] = own.map(nameOf).toSorted();
      const id = [budget, ...more].join();
      const pods = (several.get(id)?.pods ?? 0) + 1;
      several.set(id, { kind: 'several', budget, pods, others: more });
    }
  }
  const missed = lost.map(({ pod }) => pod);
  const found = [
    ...[...all].flatMap(([budget, pods]) => undercut(budget, pods) ?? []),
    ...[...drained].flatMap(([budget, pods]) => heldUp(budget, pods, missed) ?? []),
    ...several.values(),
  ];
  return found.toSorted((a, b) => (a.budget < b.budget ? -1 : 1));
}

/** Taints ask no budget. */
function undercut(budget: Budget, pods: number): BudgetImpact | undefined {
  const allowed = Math.max(0, budget.status?.disruptionsAllowed ?? 0);
  if (pods <= allowed) return undefined;
  return { kind: 'undercut', budget: nameOf(budget), pods, allowed };
}

function heldUp(budget: Budget, drained: readonly EvictedPod[], lost: readonly PodTraits[]): BudgetImpact | undefined {
  const of = { budget: nameOf(budget), pods: drained.length };
  const why = neverBecause(budget);
  if (why !== undefined) return { kind: 'never', ...of, why };
  const { status, syncError } = budget;
  if (status === undefined) return { kind: 'unknown', ...of, ...(syncError === undefined ? {} : { why: syncError }) };
  const { disruptionsAllowed, currentHealthy, desiredHealthy } = status;
  const short = shortOf(budget, lost);
  if (short !== undefined) {
    const allowed = Math.max(0, currentHealthy - desiredHealthy);
    const bare = drained.filter(({ owner }) => owner === undefined).length;
    return { kind: 'stuck', ...of, ...short, ...(bare === 0 ? {} : { notRecreated: bare }), allowed };
  }
  const returning = returningTo(budget, drained);
  if (returning !== undefined) return returning;
  if (disruptionsAllowed > 0) return undefined;
  return { kind: 'waits', ...of, healthy: currentHealthy, needs: desiredHealthy };
}

/** Pods that come back are evicted once more, all of a node at once: see the drainer of nodes. */
function returningTo(budget: Budget, drained: readonly EvictedPod[]): BudgetImpact | undefined {
  const { disruptionsAllowed = 0, expectedPods = 0, desiredHealthy = 0 } = budget.status ?? {};
  const allowed = Math.max(disruptionsAllowed, expectedPods - desiredHealthy);
  const back = drained.filter(({ eviction, owner }) => eviction.mayReturn && owner !== undefined);
  const over = [...Map.groupBy(back, ({ node }) => node)].filter(([, pods]) => pods.length > allowed);
  if (over.length === 0) return undefined;
  const pods = over.reduce((sum, [, some]) => sum + some.length, 0);
  const nodes = over.map(([node]) => node).toSorted();
  return { kind: 'returning', budget: nameOf(budget), pods, nodes, allowed };
}

/** Whether the Eviction API never evicts the pod: see `never`. */
export function neverEvicted(budgets: readonly Budget[]): (pod: EvictedPod) => boolean {
  const budgetsOf = budgetMatcher(budgets);
  return ({ pod, eviction }) => eviction.isDrained && whyNeverEvicted(budgetsOf(pod), true) !== undefined;
}

/** Of pods that find no place, those that are evicted before their budget holds up the rest. */
export class Allowances {
  readonly #left: Map<Budget, number>;
  readonly #budgetsOf: (pod: PodTraits) => Budget[];

  constructor(found: readonly BudgetImpact[], budgets: readonly Budget[]) {
    const allowed = new Map(found.flatMap(each => (each.kind === 'stuck' ? [[each.budget, each.allowed]] : [])));
    const stuck = budgets.filter(budget => allowed.has(nameOf(budget)));
    this.#left = new Map(stuck.map(budget => [budget, allowed.get(nameOf(budget)) ?? 0]));
    this.#budgetsOf = budgetMatcher(stuck);
  }

  /** Whether the budget lets one more go. */
  take(pod: PodTraits): boolean {
    const [budget] = this.#budgetsOf(pod);
    if (budget === undefined) return true;
    const left = this.#left.get(budget) ?? 0;
    this.#left.set(budget, left - 1);
    return left > 0;
  }
}

function nameOf({ namespace, name }: Budget): string {
  return `${namespace}/${name}`;
}
