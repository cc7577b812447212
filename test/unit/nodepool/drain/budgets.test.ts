import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Budget,
  type BudgetForecast,
  forecastBudgets,
  neverEvicted,
} from '../../../../src/nodepool/drain/budgets.ts';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { makePod } from '../../commands/drain/fake-drain-cluster.ts';
import { makeBudget } from '../budget.ts';

const WEB = { app: 'web' };
const web = (name: string, more: Partial<DrainPod> = {}) => makePod({ name, labels: WEB, ...more });
const status = (disruptionsAllowed: number, currentHealthy: number, desiredHealthy: number, expectedPods: number) => ({
  disruptionsAllowed,
  currentHealthy,
  desiredHealthy,
  expectedPods,
});

const three = [web('a'), web('b'), web('c')];
const maximum = (maxUnavailable: number | string) => ({ minAvailable: undefined, maxUnavailable });
const of = { budget: 'ns/web', pods: 3 };
const never = (why: string, pods = 3): BudgetForecast => ({ kind: 'never', budget: 'ns/web', pods, why });
const unready = [web('a', { isReady: false }), web('b')];

const CASES: [string, DrainPod[], Budget[], BudgetForecast[]][] = [
  ['counts all pods together', three, [makeBudget()], [{ kind: 'waits', ...of, allowed: 1 }]],
  ['a budget that allows enough evictions', [web('a')], [makeBudget()], []],
  [
    'a budget that allows no evictions now',
    [web('a')],
    [makeBudget({ status: status(0, 2, 2, 3) })],
    [{ kind: 'waits', ...of, pods: 1, allowed: 0 }],
  ],
  ['a negative status', three, [makeBudget({ status: status(-1, 1, 2, 3) })], [{ kind: 'waits', ...of, allowed: 0 }]],
  ['no pod to evict', [], [makeBudget()], []],
  [
    'a budget does not match pods of another namespace',
    [web('a', { namespace: 'other' })],
    [makeBudget({ status: status(0, 2, 2, 3) })],
    [],
  ],
  [
    'an empty selector matches all',
    [makePod({ name: 'x' })],
    [makeBudget({ selector: {}, status: status(0, 2, 2, 3) })],
    [{ kind: 'waits', ...of, pods: 1, allowed: 0 }],
  ],
  ['no selector matches none', three, [makeBudget({ selector: undefined, status: status(0, 2, 2, 3) })], []],
  [
    'minAvailable equals the number of pods',
    three,
    [makeBudget({ minAvailable: 3, status: status(0, 3, 3, 3) })],
    [never('minAvailable is 3, and the budget covers 3 pods')],
  ],
  [
    'minAvailable equals the number of pods, 1',
    [web('a')],
    [makeBudget({ minAvailable: 1, status: status(0, 1, 1, 1) })],
    [never('minAvailable is 1, and the budget covers 1 pod', 1)],
  ],
  [
    'minAvailable exceeds the number of pods',
    three,
    [makeBudget({ minAvailable: 4, status: status(0, 3, 4, 3) })],
    [never('minAvailable is 4, and the budget covers 3 pods')],
  ],
  [
    'minAvailable is rounded up to all pods',
    three,
    [makeBudget({ minAvailable: '90%', status: status(0, 3, 3, 3) })],
    [never('minAvailable is 90%, and the budget covers 3 pods')],
  ],
  ['maxUnavailable 0', three, [makeBudget({ ...maximum(0), status: undefined })], [never('maxUnavailable is 0')]],
  [
    'maxUnavailable 0%',
    three,
    [makeBudget({ ...maximum('0%'), status: status(0, 3, 3, 3) })],
    [never('maxUnavailable is 0%')],
  ],
  [
    'minAvailable 100%',
    three,
    [makeBudget({ minAvailable: '100%', status: undefined })],
    [never('minAvailable is 100%')],
  ],
  [
    'one pod is temporarily unhealthy',
    three,
    [makeBudget({ ...maximum(1), status: status(0, 2, 2, 3) })],
    [{ kind: 'waits', ...of, allowed: 0 }],
  ],
  [
    'the budget covers no pod yet',
    three,
    [makeBudget({ status: status(0, 0, 2, 0) })],
    [{ kind: 'waits', ...of, allowed: 0 }],
  ],
  ['the status is missing', three, [makeBudget({ status: undefined })], [{ kind: 'unknown', ...of }]],
  [
    'pending, completed and terminating pods do not count',
    [
      web('a', { phase: 'Pending' }),
      web('b', { phase: 'Succeeded' }),
      web('c', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ],
    [makeBudget({ status: status(0, 2, 2, 3) })],
    [],
  ],
  [
    'an unhealthy pod can be evicted while enough are healthy',
    unready,
    [makeBudget({ status: status(0, 2, 2, 3) })],
    [{ kind: 'waits', ...of, pods: 1, allowed: 0 }],
  ],
  [
    'an unhealthy pod waits while too few are healthy',
    unready,
    [makeBudget({ status: status(0, 1, 2, 3) })],
    [{ kind: 'waits', ...of, pods: 2, allowed: 0 }],
  ],
  [
    'an unhealthy pod can be evicted with AlwaysAllow',
    unready,
    [makeBudget({ alwaysAllowsUnhealthy: true, status: status(0, 1, 2, 3) })],
    [{ kind: 'waits', ...of, pods: 1, allowed: 0 }],
  ],
  [
    'an unhealthy pod waits even if no pod has to be healthy',
    [web('a', { isReady: false })],
    [makeBudget({ ...maximum(1), status: status(0, 0, 0, 1) })],
    [{ kind: 'waits', ...of, pods: 1, allowed: 0, unready: 1 }],
  ],
  [
    'an unhealthy pod with AlwaysAllow needs no healthy pods',
    [web('a', { isReady: false })],
    [makeBudget({ ...maximum(1), alwaysAllowsUnhealthy: true, status: status(0, 0, 0, 1) })],
    [],
  ],
  [
    'an unhealthy pod waits while a healthy pod may be evicted',
    unready,
    [makeBudget({ ...maximum(2), status: status(1, 1, 0, 2) })],
    [{ kind: 'waits', ...of, pods: 2, allowed: 1, unready: 1 }],
  ],
  [
    'bare pods are not what maxUnavailable counts',
    three,
    [makeBudget({ ...maximum(1), status: status(0, 3, 0, 0) })],
    [{ kind: 'never', ...of, why: 'maxUnavailable is 1, and no controller owns its pods' }],
  ],
  [
    'the controller cannot compute the status',
    three,
    [makeBudget({ status: undefined, syncError: 'no scale' })],
    [{ kind: 'unknown', ...of, why: 'no scale' }],
  ],
  [
    'two budgets match a pod',
    [web('a')],
    [makeBudget(), makeBudget({ name: 'all', selector: {} })],
    [{ kind: 'several', pod: 'ns/a', budgets: ['web', 'all'] }],
  ],
];

for (const [name, pods, budgets, expected] of CASES) {
  test(name, () => assert.deepEqual(forecastBudgets(pods, budgets), expected));
}

test('counts the disruptions of many pods of one budget', () => {
  const pods = Array.from({ length: 1_000 }, (_, at) => web(`p-${at}`));
  assert.deepEqual(forecastBudgets(pods, [makeBudget()]), [
    { kind: 'waits', budget: 'ns/web', pods: 1_000, allowed: 1 },
  ]);
});

test('a dry run does not evict pods of a budget that the controller cannot compute', () => {
  const budget = makeBudget({ status: undefined, syncError: 'no scale', alwaysAllowsUnhealthy: true });
  assert.deepEqual([...neverEvicted(unready, [budget]).values()], ['PodDisruptionBudget ns/web: no scale']);
  assert.equal(neverEvicted(unready, [makeBudget({ status: undefined })]).size, 0);
});
