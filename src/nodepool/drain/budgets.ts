/**
 * Whether PodDisruptionBudgets allow a drain of all its pods. The rules are those of the eviction subresource
 * (k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go) and of the disruption controller.
 */

import { type LabelQuery, matchesQuery } from '../membership/label-query.ts';
import { plural } from '../text.ts';
import { type DrainPod, podName } from './drain-filters.ts';

/** A policy/v1 PodDisruptionBudget. */
export interface Budget {
  namespace: string;
  name: string;
  selector: LabelQuery | undefined;
  minAvailable: number | string | undefined;
  maxUnavailable: number | string | undefined;
  /** Evicts pods that are not Ready without regard to the budget (unhealthyPodEvictionPolicy: AlwaysAllow). */
  alwaysAllowsUnhealthy: boolean;
  /** Undefined: the disruption controller has not observed this spec yet. */
  status:
    | { disruptionsAllowed: number; currentHealthy: number; desiredHealthy: number; expectedPods: number }
    | undefined;
  /** Why the disruption controller could not compute the status. */
  syncError?: string;
}

/** Why a budget delays or prevents evictions. A budget that allows all evictions has no forecast. */
export type BudgetForecast =
  /**
   * @param pods number of pods to evict that the budget counts
   * @param unready how many of them are not Ready, if waiting does not help them
   */
  | { kind: 'waits'; budget: string; pods: number; allowed: number; unready?: number }
  /** The budget allows no eviction even if all its pods are healthy. */
  | { kind: 'never'; budget: string; pods: number; why: string }
  /** @param why the reason of the disruption controller, if it gives one */
  | { kind: 'unknown'; budget: string; pods: number; why?: string }
  /** The server evicts no pod with several budgets. */
  | { kind: 'several'; pod: string; budgets: string[] };

/** @param pods all pods to evict */
export function forecastBudgets(pods: readonly DrainPod[], budgets: readonly Budget[]): BudgetForecast[] {
  const budgetsOf = budgetMatcher(budgets);
  const covered = new Map<Budget, DrainPod[]>(budgets.map(budget => [budget, []]));
  const several: BudgetForecast[] = [];
  for (const pod of pods.filter(isCounted)) {
    const matching = budgetsOf(pod);
    const [first, ...others] = matching;
    if (others.length > 0)
      several.push({ kind: 'several', pod: podName(pod), budgets: matching.map(({ name }) => name) });
    else if (first !== undefined) covered.get(first)?.push(pod);
  }
  const ofBudgets = [...covered].flatMap(([budget, pods]) => ofBudget(budget, pods) ?? []);
  return [...ofBudgets.toSorted((a, b) => (a.budget < b.budget ? -1 : 1)), ...several];
}

/** Why pods are not evicted before someone acts, by UID: `PodDisruptionBudget ns/web: maxUnavailable is 0`. */
export function neverEvicted(pods: readonly DrainPod[], budgets: readonly Budget[]): Map<string, string> {
  const budgetsOf = budgetMatcher(budgets);
  return new Map(
    pods.filter(isCounted).flatMap(pod => {
      const matching = budgetsOf(pod);
      const why = whyNeverEvicted(matching, pod.isReady) ?? whyNotComputed(matching, pod.isReady);
      return why === undefined ? [] : [[pod.uid, why] as const];
    }),
  );
}

/** Why the Eviction API never evicts a pod that these budgets select: it evicts none with several budgets. */
export function whyNeverEvicted([first, ...others]: readonly Budget[], isReady: boolean): string | undefined {
  if (first === undefined) return undefined;
  if (others.length > 0)
    return `several PodDisruptionBudgets: ${[first, ...others].map(({ name }) => name).join(', ')}`;
  const why = isReady || !passesUnready(first) ? neverBecause(first) : undefined;
  return why === undefined ? undefined : `PodDisruptionBudget ${first.namespace}/${first.name}: ${why}`;
}

function whyNotComputed([budget]: readonly Budget[], isReady: boolean): string | undefined {
  if (budget?.syncError === undefined || (!isReady && passesUnready(budget))) return undefined;
  return `PodDisruptionBudget ${budget.namespace}/${budget.name}: ${budget.syncError}`;
}

/** The fields of a pod that a budget considers. */
type LabelledPod = Pick<DrainPod, 'namespace' | 'labels'>;

export function budgetMatcher(budgets: readonly Budget[]): (pod: LabelledPod) => Budget[] {
  const byNamespace = Map.groupBy(budgets, ({ namespace }) => namespace);
  return pod => byNamespace.get(pod.namespace)?.filter(({ selector }) => matchesQuery(selector, pod.labels)) ?? [];
}

/**
 * Set if too few pods would be healthy, so evictions never happen.
 * @param pending evicted pods without a node; Ready if it is not known
 */
export function shortOf(
  budget: Budget,
  pending: readonly (LabelledPod & Partial<Pick<DrainPod, 'isReady'>>)[],
): { pending: number; needs: number } | undefined {
  const { status, alwaysAllowsUnhealthy } = budget;
  const budgetsOf = budgetMatcher([budget]);
  const covered = pending.filter(pod => budgetsOf(pod).length > 0);
  const healthy = covered.filter(({ isReady = true }) => isReady).length;
  const counted = alwaysAllowsUnhealthy ? healthy : covered.length;
  if (status === undefined || counted === 0 || status.currentHealthy - healthy >= status.desiredHealthy)
    return undefined;
  return { pending: counted, needs: status.desiredHealthy };
}

/** Other pods are evicted without checking budgets. */
function isCounted({ phase, deletionTimestamp }: DrainPod): boolean {
  return phase === 'Running' && deletionTimestamp === undefined;
}

function ofBudget(budget: Budget, all: readonly DrainPod[]): Extract<BudgetForecast, { budget: string }> | undefined {
  const { status, syncError, namespace, name } = budget;
  const passesUnhealthy = passesUnready(budget);
  const pods = all.filter(({ isReady }) => isReady || !passesUnhealthy).length;
  const of = { budget: `${namespace}/${name}`, pods };
  if (pods === 0) return undefined;
  const why = neverBecause(budget);
  if (why !== undefined) return { kind: 'never', ...of, why };
  if (status === undefined) return { kind: 'unknown', ...of, ...(syncError === undefined ? {} : { why: syncError }) };
  const allowed = Math.max(0, status.disruptionsAllowed);
  if (allowed >= pods) return undefined;
  const unready = passesUnhealthy || status.desiredHealthy > 0 ? 0 : all.filter(({ isReady }) => !isReady).length;
  return { kind: 'waits', ...of, allowed, ...(unready > 0 ? { unready } : {}) };
}

/** Whether pods that are not Ready may go: by the policy, or if enough pods (desiredHealthy, not 0) are healthy. */
function passesUnready({ alwaysAllowsUnhealthy, status }: Budget): boolean {
  if (alwaysAllowsUnhealthy || status === undefined) return alwaysAllowsUnhealthy;
  return status.currentHealthy >= status.desiredHealthy && status.desiredHealthy > 0;
}

/** Undefined: the budget may allow an eviction, now or later. */
export function neverBecause({ minAvailable, maxUnavailable, status }: Budget): string | undefined {
  if (status !== undefined && status.disruptionsAllowed > 0) return undefined;
  if (maxUnavailable === 0 || maxUnavailable === '0%') return `maxUnavailable is ${maxUnavailable}`;
  if (minAvailable === '100%') return 'minAvailable is 100%';
  const rule = minAvailable === undefined ? `maxUnavailable is ${maxUnavailable}` : `minAvailable is ${minAvailable}`;
  // It expects the replicas of controllers only, unless minAvailable is a number.
  if (status?.expectedPods === 0 && status.currentHealthy > 0) return `${rule}, and no controller owns its pods`;
  if (status === undefined || status.expectedPods === 0 || status.desiredHealthy < status.expectedPods)
    return undefined;
  return `${rule}, and the budget covers ${plural(status.expectedPods, 'pod')}`;
}
