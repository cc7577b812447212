/** `drain --check-fit`: whether the evicted pods have a place, resources included. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { budget, drain, closed, names, pod: podOf } = poolsWithPods(testEnv);
const api = () => raw(testEnv.cluster());
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const PODS = '/api/v1/namespaces/default/pods';

const allocatable = { cpu: '4', memory: '8Gi', pods: '10' };

async function pod(name: string, node: string, cpu: string, more: object = {}): Promise<void> {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }];
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu } } }];
  const spec = { nodeName: node, containers, terminationGracePeriodSeconds: 0, ...more };
  await api().expect('POST', PODS, { metadata: { name, labels: { app: 'web' }, ownerReferences }, spec });
}

beforeEach(async () => {
  await testEnv.nodes(
    { name: 'w-1', labels: role('worker'), allocatable },
    { name: 'w-2', labels: role('worker'), allocatable },
    { name: 'x', allocatable },
  );
  await testEnv.pool('worker');
});

test('drains if all pods have a place on other nodes', async () => {
  await pod('a', 'w-1', '2');
  await pod('b', 'w-2', '2');
  const { code, stderr } = await drain(NOW, '--check-fit');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^All 2 recreated pods fit on the other nodes\.$/m);
  assert.deepEqual(await names(), []);
});

test('promises nothing for pods that nobody recreates, which maxUnavailable never lets go', async () => {
  const labels = { app: 'bare' };
  for (const name of ['a', 'b']) await podOf({ name, node: 'w-1', labels, owner: null });
  await api().expect('POST', BUDGETS, {
    metadata: { name: 'bare' },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  });
  const counts = { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 0, expectedPods: 0 };
  await api().expect('PATCH', `${BUDGETS}/bare/status`, { status: { observedGeneration: 1, ...counts } });
  const { code, stderr } = await drain('--check-fit', '--force', '--dry-run');
  assert.equal(code, 1, stderr);
  assert.doesNotMatch(stderr, /recreated/);
  assert.match(stderr, /bare never allows an eviction: maxUnavailable is 1, and no controller owns its pods; 2 pods/);
});

test('says that volume limits are not considered if a pod has a volume', async () => {
  const volumes = (source: object) => [{ name: 'v', ...source }];
  await pod('a', 'w-1', '1', { volumes: volumes({ emptyDir: {} }) });
  const flags = ['--check-fit', '--dry-run', '--delete-emptydir-data'];
  assert.doesNotMatch((await drain(...flags)).stderr, /Not considered/);
  await pod('b', 'w-2', '1', { volumes: volumes({ persistentVolumeClaim: { claimName: 'none' } }) });
  assert.match((await drain(...flags)).stderr, /^Not considered: volume limits of nodes/m);
});

test('refuses before a node is cordoned if a pod has no place, and says why', async () => {
  for (const name of ['a', 'b']) await pod(name, 'w-1', '2');
  await pod('c', 'w-2', '1');
  await pod('there', 'x', '500m');
  for (const dryRun of [[], ['--dry-run']]) {
    const { code, stderr } = await drain(NOW, '--check-fit', ...dryRun);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /error: at least 1 of 3 pods would find no place on other nodes; nothing was cordoned/);
    assert.match(
      stderr,
      /1 pod would not fit: 1 Insufficient cpu \((1|2) requested, at most \S+ free on a node\): default\/[abc]/,
    );
  }
  assert.deepEqual([await closed(), await names()], [[], ['a', 'b', 'c', 'there']]);
  const one = await drain(NOW, '--check-fit', '--node', 'w-2');
  assert.equal(one.code, 0, one.stderr);
});

test('names the budget that would block the drain, and what is not considered', async () => {
  for (const [name, node] of [
    ['a', 'w-1'],
    ['b', 'w-2'],
    ['c', 'w-2'],
  ] as const)
    await pod(name, node, '3500m', {});
  for (const name of ['a', 'b', 'c'])
    await api().expect('PATCH', `${PODS}/${name}/status`, {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  await budget('web', { app: 'web' }, 1);
  const { code, stderr } = await drain(NOW, '--check-fit');
  assert.equal(code, 1, stderr);
  assert.match(stderr, /3\.5 requested, at most 0\.5 free on a node/);
  assert.match(
    stderr,
    /PodDisruptionBudget default\/web needs 2 healthy pods, but 2 pods of it find no place: the drain would wait until its timeout/,
  );
  assert.match(stderr, /^Not considered: preemption/m);
  assert.match(stderr, /next: add nodes, or drain fewer at a time$/m);
  assert.deepEqual(await closed(), []);
});

test('names the budgets that hold up the drain before it refuses', async () => {
  for (const name of ['a', 'b']) await pod(name, 'w-1', '3');
  for (const name of ['a', 'b'])
    await api().expect('PATCH', `${PODS}/${name}/status`, {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  await budget('web', { app: 'web' }, 1);
  const { code, stderr } = await drain(NOW, '--check-fit');
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /^PodDisruptionBudget default\/web allows 1 of 2 pods to be evicted now; .*\n(.*\n)*error: 1 of 2 pods would find no place/m,
  );
});

test('a pod that anti-affinity keeps from the other nodes would not fit', async () => {
  const labelSelector = { matchLabels: { app: 'web' } };
  const terms = [{ topologyKey: 'kubernetes.io/hostname', labelSelector }];
  const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
  for (const [name, node] of [
    ['a', 'w-1'],
    ['b', 'w-2'],
  ] as const)
    await pod(name, node, '1', { affinity: { podAntiAffinity } });
  const { code, stderr } = await drain(NOW, '--check-fit');
  assert.equal(code, 1, stderr);
  assert.match(stderr, /1 pod would not fit: 1 node\(s\) didn't match pod anti-affinity rules/);
  assert.deepEqual(await closed(), []);
});

test('pods with the same reason share one line, even if their labels differ', async () => {
  const nodeSelector = role('worker');
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'zk' };
  for (const name of ['zk-0', 'zk-1', 'zk-2'])
    await podOf({ name, node: 'w-1', labels: { name }, owner, nodeSelector });
  await podOf({ name: 'web', node: 'w-2', nodeSelector });
  const { stderr } = await drain(NOW, '--check-fit');
  const lines = stderr.split('\n').filter(line => line.includes('would not fit'));
  assert.deepEqual(lines, [
    "  4 pods would not fit: 1 node(s) didn't match Pod's node affinity/selector: 3 of StatefulSet default/zk, default/web",
  ]);
});

test('a pod may not fit if another pod may take its place', async () => {
  await testEnv.nodes({ name: 'y', allocatable: { ...allocatable, cpu: '2' } });
  await pod('large', 'w-1', '3');
  await pod('small', 'w-2', '2');
  const { code, stderr } = await drain(NOW, '--check-fit', '--dry-run');
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^error: 1 of 2 pods may find no place on other nodes; nothing was cordoned$/m);
  assert.match(
    stderr,
    /^ {2}1 pod may not fit: the number depends on which nodes the scheduler picks first: default\/large$/m,
  );
  assert.match(
    stderr,
    /^next: add nodes, drain fewer at a time, or drain without --check-fit: some may stay Pending$/m,
  );
});
