/** A PodDisruptionBudget of three healthy pods, of which two are needed. */
import type { Budget } from '../../../src/nodepool/drain/budgets.ts';

export function makeBudget(more: Partial<Budget> = {}): Budget {
  return {
    namespace: 'ns',
    name: 'web',
    selector: { matchLabels: { app: 'web' } },
    minAvailable: 2,
    maxUnavailable: undefined,
    alwaysAllowsUnhealthy: false,
    status: { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 },
    ...more,
  };
}
