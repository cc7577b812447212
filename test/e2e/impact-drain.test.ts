/** The impact of a taint with `noExecute: Drain`: the steps, and how pods and budgets change them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod, budget } = poolsWithPods(testEnv);
const ZK = { app: 'zk' };
const statefulSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'zk' };
const patient = [
  { key: 'maintenance', operator: 'Exists' as const, effect: 'NoExecute' as const, tolerationSeconds: 60 },
];

test('the NoSchedule taint keeps pods away during the drain, and a budget whose pods have no room blocks the drain', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
  await testEnv.pool('web');
  await testEnv.reconcile();
  for (const [at, node] of ['a', 'b', 'b'].entries())
    await pod({ name: `zk-${at}`, node, labels: ZK, owner: statefulSet });
  await pod({ name: 'patient', node: 'a', tolerations: patient });
  await budget('zk', ZK, 1);
  const taints = [{ key: 'maintenance', value: 'now', effect: 'NoExecute' as const }];
  await testEnv.edit('web', { spec: { noExecute: 'Drain', taints } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  for (const line of [
    'noExecute: Drain: taint maintenance=now:NoSchedule keeps new pods away first; then pods, including those of DaemonSets, are evicted as PodDisruptionBudgets allow; then this taint is set',
    '1 pod of ReplicaSet default/web: none fits elsewhere; 1 would stay Pending: 2 node(s) had untolerated taint(s); once the nodes are drained, may return and are evicted again after 60s, endlessly: 1 on pool web',
    '3 pods of StatefulSet default/zk: none fits elsewhere; 1 would stay Pending: 2 node(s) had untolerated taint(s); 2 are not evicted, because a PodDisruptionBudget blocks the drain',
    'default/zk needs 2 healthy pods, but 3 of the 3 pods to evict find no place: after 1 eviction, the drain waits forever; add room first',
  ])
    assert.ok(stdout.split('\n').includes(`  ${line}`), stdout);
  // A node that is cordoned takes none afterwards.
  await testEnv.patchNode('a', { spec: { unschedulable: true } });
  const { stdout: json } = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json']);
  const { keys, evicted } = JSON.parse(json).impact;
  assert.deepEqual(keys[0].drain, {
    nodes: 2,
    closedBy: { key: 'maintenance', value: 'now', effect: 'NoSchedule' },
  });
  assert.deepEqual(evicted[1].held, 2);
  assert.deepEqual(evicted[0].afterDrain, { canGo: [], returns: [{ node: 'b', pool: 'web', pods: 1 }] });
});

test('pods that tolerate the NoSchedule taint may return during the drain, and so are not Pending and do not block it', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  const taint = (effect: 'NoSchedule' | 'NoExecute') => ({ key: 'maintenance', effect });
  await testEnv.pool('web', { noExecute: 'Drain', taints: [taint('NoSchedule')] });
  await testEnv.reconcile();
  const tolerations = [{ key: 'maintenance', operator: 'Exists' as const, effect: 'NoSchedule' as const }];
  for (const name of ['zk-0', 'zk-1']) await pod({ name, node: 'a', labels: ZK, owner: statefulSet, tolerations });
  await budget('zk', ZK, 1);
  await testEnv.edit('web', { spec: { taints: [taint('NoExecute')] } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  const line =
    '2 pods of StatefulSet default/zk: none fits elsewhere; 2 may return before the NoExecute taint: they tolerate the NoSchedule taint; after that, 2 would stay Pending: 1 node(s) had untolerated taint(s)';
  assert.ok(stdout.split('\n').includes(`  ${line}`), stdout);
  assert.doesNotMatch(stdout, /forever|not evicted/);
  const never =
    'default/zk allows at most 1 eviction at once, but 2 pods may return to node a because they tolerate the NoSchedule taint: then the node does not get the NoExecute taint';
  assert.ok(stdout.split('\n').includes(`  ${never}`), stdout);
  const { stdout: json } = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json']);
  const [{ mayReturn, pendingAfter, pending, held }] = JSON.parse(json).impact.evicted;
  assert.deepEqual({ mayReturn, pendingAfter, pending, held }, { mayReturn: 2, pendingAfter: 2, pending: 0, held: 0 });
});
