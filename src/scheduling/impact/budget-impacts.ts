/** What the evictions of a change mean to PodDisruptionBudgets. Whether pods are Ready is not known here. */
import { type Budget, budgetMatcher, neverBecause, shortOf, whyNeverEvicted } from '../../nodepool/budgets.ts';
import type { PodTraits } from '../types.ts';
import type { BudgetImpact, EvictedPod, RunningPod } from './types.ts';

/** In the order of their names. @param pending of the evicted pods, those that stay Pending */
export function budgetImpacts(
  evicted: readonly EvictedPod[],
  pending: readonly RunningPod[],
  budgets: readonly Budget[],
): BudgetImpact[] {
  const budgetsOf = budgetMatcher(budgets);
  const [all, drained] = [new Map<Budget, number>(), new Map<Budget, number>()];
  for (const { pod, eviction } of evicted) {
    for (const budget of budgetsOf(pod)) {
      const counts = eviction.isDrained ? drained : all;
      counts.set(budget, (counts.get(budget) ?? 0) + 1);
    }
  }
  const unplaced = pending.map(({ pod }) => pod);
  const found = [
    ...[...all].flatMap(([budget, pods]) => undercut(budget, pods) ?? []),
    ...[...drained].flatMap(([budget, pods]) => heldUp(budget, pods, unplaced) ?? []),
  ];
  return found.toSorted((a, b) => (a.budget < b.budget ? -1 : 1));
}

/** Taints ask no budget. */
function undercut(budget: Budget, pods: number): BudgetImpact | undefined {
  const allowed = Math.max(0, budget.status?.disruptionsAllowed ?? 0);
  if (pods <= allowed) return undefined;
  return { kind: 'undercut', budget: nameOf(budget), pods, allowed };
}

function heldUp(budget: Budget, pods: number, pending: readonly PodTraits[]): BudgetImpact | undefined {
  const of = { budget: nameOf(budget), pods };
  const why = neverBecause(budget);
  if (why !== undefined) return { kind: 'never', ...of, why };
  const short = shortOf(budget, pending);
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return short && { kind: 'stuck', ...of, ...short, allowed: Math.max(0, currentHealthy - desiredHealthy) };
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
