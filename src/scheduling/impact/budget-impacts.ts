/** What the evictions of a change mean to PodDisruptionBudgets. Whether pods are Ready is not known here. */
import { type Budget, budgetMatcher, neverBecause, shortOf } from '../../nodepool/budgets.ts';
import type { Pod } from '../types.ts';
import type { EvictedPod } from './leaving-pods.ts';
import type { BudgetImpact } from './types.ts';

/** In the order of their names. @param pending of the evicted pods, those that stay Pending */
export function budgetImpacts(
  evicted: readonly EvictedPod[],
  pending: readonly Pod[],
  budgets: readonly Budget[],
): BudgetImpact[] {
  const budgetsOf = budgetMatcher(budgets);
  const [all, drained] = [new Map<Budget, number>(), new Map<Budget, number>()];
  for (const { pod, isDrained } of evicted) {
    for (const budget of budgetsOf(pod)) {
      const counts = isDrained ? drained : all;
      counts.set(budget, (counts.get(budget) ?? 0) + 1);
    }
  }
  const found = [
    ...[...all].flatMap(([budget, pods]) => undercut(budget, pods) ?? []),
    ...[...drained].flatMap(([budget, pods]) => heldUp(budget, pods, pending) ?? []),
  ];
  return found.toSorted((a, b) => (a.budget < b.budget ? -1 : 1));
}

/** Taints ask no budget. */
function undercut(budget: Budget, pods: number): BudgetImpact | undefined {
  const allowed = Math.max(0, budget.status?.disruptionsAllowed ?? 0);
  if (pods <= allowed) return undefined;
  return { kind: 'undercut', budget: nameOf(budget), pods, allowed };
}

function heldUp(budget: Budget, pods: number, pending: readonly Pod[]): BudgetImpact | undefined {
  const of = { budget: nameOf(budget), pods };
  const why = neverBecause(budget);
  if (why !== undefined) return { kind: 'never', ...of, why };
  const short = shortOf(budget, pending);
  return short && { kind: 'stuck', ...of, ...short };
}

function nameOf({ namespace, name }: Budget): string {
  return `${namespace}/${name}`;
}
