/** What a drain says beforehand about budgets, and about pods that no other node takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { readClaim, readVolume } from '../../../../src/scheduling/volumes/storage.ts';
import { makeBudget } from '../../nodepool/budget.ts';
import { fakeDrainCluster, RULES } from './fake-drain-cluster.ts';

const ZONE = 'topology.kubernetes.io/zone';
const labels = { app: 'web' };
const base = { nodeSelector: {}, nodeTerms: undefined, tolerations: [] };
const bare = { controller: undefined } as unknown as Partial<DrainPod>;
const away = { name: 'x', labels: {} };

test('adds up the pods of all nodes against the disruptions that a budget allows', async () => {
  const { plan, lists } = fakeDrainCluster({
    nodes: [{ name: 'a' }, { name: 'b' }, away],
    pods: { a: [{ name: 'p', labels }], b: [{ name: 'q', labels }] },
    budgets: [makeBudget()],
  });
  const { warnings, notes } = await plan();
  assert.deepEqual(warnings, []);
  assert.deepEqual(notes, [
    'PodDisruptionBudget ns/web allows 1 of 2 pods to be evicted now; the drain waits until the budget allows more',
  ]);
  assert.equal(lists.filter(list => list === 'budgets').length, 1);
});

test('reports a budget that may never allow more when its pods fit on no other node', async () => {
  const { plan } = fakeDrainCluster({
    nodes: [{ name: 'a' }, { name: 'b' }],
    pods: { a: [{ name: 'p', labels }], b: [{ name: 'q', labels }] },
    budgets: [makeBudget()],
  });
  assert.deepEqual((await plan()).notes, [
    'PodDisruptionBudget ns/web allows 1 of 2 pods to be evicted now; 2 of the evicted pods would stay Pending, so the budget may never allow more',
  ]);
});

test('keeps a pod Pending if no other node reaches its volume', async () => {
  const at = (node: string) => ({ name: node, labels: { in: node === 'x' ? 'other' : 'worker', host: node } });
  const claim = readClaim({
    metadata: { namespace: 'ns', name: 'data', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName: 'v' },
  });
  const volume = (node: string, zone?: string) => {
    const matchExpressions = [{ key: 'host', operator: 'In', values: [node] }];
    return readVolume({
      metadata: { name: 'v', ...(zone === undefined ? {} : { labels: { [ZONE]: zone } }) },
      spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } },
    });
  };
  const warned = async (volumes: ReturnType<typeof volume>[], pod: Partial<DrainPod> = {}) => {
    const { plan, lists } = fakeDrainCluster({
      nodes: [at('a'), { ...at('x'), labels: { ...at('x').labels, [ZONE]: 'z1' } }],
      pods: { a: [{ name: 'p', labels, claims: ['data'], ...pod }] },
      storage: { claims: new Map([['ns/data', claim]]), volumes: new Map(volumes.map(each => [each.name, each])) },
    });
    return [(await plan()).warnings, lists.includes('volumes ns')];
  };
  const pending = [
    'pods will stay Pending until nodes of the drain are uncordoned, because their volumes are not reachable from another suitable node: ns/p',
  ];
  assert.deepEqual(await warned([volume('a')]), [pending, true]);
  assert.deepEqual(await warned([volume('x')]), [[], true]);
  assert.deepEqual(await warned([volume('x', 'z1__z2')]), [[], true]);
  assert.deepEqual(await warned([volume('x', 'z2')]), [pending, true]);
  assert.deepEqual(await warned([]), [[], true]);
  assert.deepEqual(await warned([volume('a')], { phase: 'Succeeded' }), [[], false]);
});

test('names the policy that keeps unready pods, and why a budget has no status', async () => {
  const none = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 1 };
  const { plan } = fakeDrainCluster({
    nodes: [{ name: 'a' }, away],
    pods: {
      a: [
        { name: 'p', labels, isReady: false },
        { name: 'q', labels: { app: 'db' } },
      ],
    },
    budgets: [
      makeBudget({ minAvailable: undefined, maxUnavailable: 1, status: none }),
      makeBudget({ name: 'db', selector: { matchLabels: { app: 'db' } }, status: undefined, syncError: 'no scale' }),
    ],
  });
  const { warnings, notes } = await plan();
  assert.deepEqual(warnings, [
    {
      message:
        'PodDisruptionBudget ns/db has no current status (no scale) and allows no eviction without a status; 1 pod would wait',
      next: 'see `kubectl describe poddisruptionbudget db -n ns`, or use --disable-eviction',
    },
  ]);
  assert.deepEqual(notes, [
    'PodDisruptionBudget ns/web allows 0 of 1 pod to be evicted now; 1 is not Ready: the drain waits until they are Ready; to evict them, set unhealthyPodEvictionPolicy: AlwaysAllow in the budget, or use --disable-eviction',
  ]);
});

test('warns of obstacles that waiting does not resolve', async () => {
  const { plan } = fakeDrainCluster({
    nodes: [{ name: 'a' }, away],
    pods: {
      a: [
        { name: 'p', labels },
        { name: 'q', labels: { app: 'db' } },
        { name: 'r', labels: { app: 'two' }, placement: { ...base, nodeSelector: { in: 'worker' } } },
      ],
    },
    budgets: [
      makeBudget({ maxUnavailable: 0, status: undefined }),
      makeBudget({ name: 'db', selector: { matchLabels: { app: 'db' } }, status: undefined }),
      ...['one', 'two'].map(name => makeBudget({ name, selector: { matchLabels: { app: 'two' } } })),
    ],
  });
  const { warnings, notes } = await plan();
  assert.deepEqual(warnings, [
    'PodDisruptionBudget ns/web never allows an eviction: maxUnavailable is 0; 1 pod would not be evicted: add replicas, change the budget, or use --disable-eviction',
    {
      message:
        'PodDisruptionBudget ns/db has no current status and allows no eviction without a status; 1 pod would wait',
      next: 'see `kubectl describe poddisruptionbudget db -n ns`, or use --disable-eviction',
    },
    'the server evicts no pod with more than one PodDisruptionBudget (one, two); keep one of them, or use --disable-eviction: ns/r',
    'pods will stay Pending, because no other schedulable node matches their nodeSelector and node affinity: ns/r',
  ]);
  assert.deepEqual(notes, []);
});

test('evaluates only remaining, Ready, schedulable nodes, and pods that are recreated', async () => {
  const taints = [{ key: 'k', effect: 'NoSchedule' as const }];
  const pods = { a: [{ name: 'p' }, { name: 'bare', ...bare }, { name: 'ended', phase: 'Succeeded' }] };
  for (const [others, reason] of [
    [[], 'because every other node is cordoned or not Ready'],
    [
      [
        { ...away, ready: false },
        { ...away, name: 'y', unschedulable: true },
      ],
      'because every other node is cordoned or not Ready',
    ],
    [[{ ...away, taints }], 'because they do not tolerate the taints of the other schedulable nodes that match'],
  ] as const) {
    const { plan } = fakeDrainCluster({
      nodes: [{ name: 'a' }, ...others],
      pods,
      options: { rules: { ...RULES, force: true } },
    });
    const { warnings } = await plan();
    assert.equal(warnings.at(-1), `pods will stay Pending, ${reason}: ns/p`);
  }
});

test('reads no budgets without pods or evictions, and reports missing permission', async () => {
  const nodes = [{ name: 'a' }, away];
  const pods = { a: [{ name: 'p' }] };
  const without = fakeDrainCluster({ nodes, pods, options: { disableEviction: true } });
  await without.plan();
  const empty = fakeDrainCluster({ nodes });
  await empty.plan();
  assert.deepEqual([without.lists, empty.lists], [['a'], ['a']]);
  const refused = fakeDrainCluster({ nodes, pods, budgets: new NodepoolError('cluster', 'forbidden') });
  assert.deepEqual((await refused.plan()).warnings, ['cannot tell what PodDisruptionBudgets allow: forbidden']);
});

test('names budgets that never allow evictions along with pods that need a flag', async () => {
  const { plan } = fakeDrainCluster({
    nodes: [{ name: 'a' }, { name: 'b' }, away],
    pods: {
      a: [
        { name: 'p', labels, hasEmptyDir: true },
        { name: 'q', ...bare, labels: { app: 'db' } },
      ],
      b: [{ name: 'd', labels, controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } }],
    },
    budgets: [
      makeBudget({ maxUnavailable: 0, status: undefined }),
      makeBudget({ name: 'db', selector: { matchLabels: { app: 'db' } }, status: undefined }),
    ],
  });
  const refusal = await plan().catch((error: unknown) => error);
  assert.ok(refusal instanceof NodepoolError);
  assert.deepEqual(refusal.lines, [
    'cannot drain nodepool "worker"; nothing was changed:',
    'cannot delete pods with local storage (use --delete-emptydir-data to override): ns/p',
    'cannot delete pods that declare no controller (use --force to override): ns/q',
    'cannot delete DaemonSet-managed pods (use --ignore-daemonsets to ignore): ns/d',
    'PodDisruptionBudget ns/web never allows an eviction: maxUnavailable is 0; 1 pod would not be evicted: add replicas, change the budget, or use --disable-eviction',
    'PodDisruptionBudget ns/db has no current status and allows no eviction without a status; 1 pod would wait; next: see `kubectl describe poddisruptionbudget db -n ns`, or use --disable-eviction',
  ]);
});
