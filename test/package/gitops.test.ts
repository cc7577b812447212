/** kstatus and Argo CD's health script read every state of a pool, as the server returns it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeStatus } from '../../src/nodepool/status/status.ts';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { setReady } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { useCrd } from '../e2e/earlier-crd.ts';
import { nodeRefusal, whileRefusing } from '../e2e/refusal.ts';
import { role, useTestEnv } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { aNode, EMPTY_OBSERVATION } from '../unit/nodepool/fixtures.ts';
import { healthOf, kstatusOf, type Reading } from './gitops.ts';

const testEnv = useTestEnv();
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const api = () => raw(testEnv.cluster());
/** By kstatus, then by Argo CD. */
async function readings(pool: string): Promise<[Reading, Reading]> {
  const object = await api().expect('GET', `${POOLS}/${pool}`);
  return Promise.all([kstatusOf(object), healthOf(object)]);
}
const statesOf = async (pool: string) => (await readings(pool)).map(({ status }) => status).join();

test('a pool is InProgress until its spec is reconciled, then Current', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'gold' } });
  assert.equal(await statesOf('one'), 'InProgress,Progressing');
  await testEnv.reconcile('one');
  assert.equal(await statesOf('one'), 'Current,Healthy');
  await testEnv.edit('one', { spec: { labels: { tier: 'silver' } } });
  assert.equal(await statesOf('one'), 'InProgress,Progressing');
  await testEnv.reconcile('one');
  assert.equal(await statesOf('one'), 'Current,Healthy');
});

test('a pool without a Ready node or with a conflict is InProgress', async () => {
  await testEnv.nodes({ name: 'a', labels: role('idle'), ready: false });
  await testEnv.nodes({ name: 'b', labels: { ...role('first'), ...role('second') } });
  await testEnv.pool('idle');
  await testEnv.pool('first');
  await testEnv.pool('second', {}, { younger: true });
  await testEnv.reconcile();
  const [idle, second] = [await testEnv.getPool('idle'), await testEnv.getPool('second')];
  assert.deepEqual([idle?.status?.status, second?.status?.status], [503, 409]);
  const message = '0 of 1 node is Ready';
  assert.deepEqual(await readings('idle'), [
    { status: 'InProgress', message },
    { status: 'Progressing', message },
  ]);
  assert.equal(await statesOf('second'), 'InProgress,Degraded');
  assert.equal(await statesOf('first'), 'Current,Healthy');
});

test('a pool whose nodes cannot be written is Failed with the reason until writes succeed', async () => {
  await testEnv.nodes({ name: 'a', labels: role('held') });
  await testEnv.pool('held', { labels: { tier: 'gold' } });
  await whileRefusing(testEnv.cluster(), nodeRefusal('a'), async () => {
    await testEnv.reconcile('held');
    assert.equal(await statesOf('held'), 'Failed,Degraded');
    for (const { message } of await readings('held')) assert.match(message, /1 of 1 node differs .*not in this test/);
  });
  await testEnv.reconcile('held');
  assert.equal(await statesOf('held'), 'Current,Healthy');
});

test('a pool is Failed while its writes are retried', async t => {
  await testEnv.nodes({ name: 'a', labels: role('held') });
  await testEnv.pool('held', { labels: { tier: 'gold' } });
  const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const lift = () => api().request('DELETE', `${webhooks}/silent`);
  t.after(lift);
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] };
  await api().expect('POST', webhooks, {
    metadata: { name: 'silent' },
    webhooks: [
      {
        name: 'silent.example.com',
        // Nothing listens there.
        clientConfig: { url: 'https://127.0.0.1:9/' },
        failurePolicy: 'Fail',
        rules: [rule],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const write = () => api().request('PATCH', '/api/v1/nodes/a?dryRun=All', { metadata: { labels: { x: 'y' } } });
  await eventually('the webhook is called', async () => (await write()).status === 500);
  await testEnv.reconcile('held');
  assert.equal(await statesOf('held'), 'Failed,Degraded');
  for (const { message } of await readings('held')) assert.match(message, /failed to call webhook/);
  await lift();
  await eventually('the webhook is gone', async () => (await write()).status === 200);
  await testEnv.reconcile('held');
  assert.equal(await statesOf('held'), 'Current,Healthy');
});

test('a pool with an unreadable quantity is Failed with the node', async () => {
  await testEnv.pool('odd');
  await testEnv.reconcile('odd');
  const pool = (await testEnv.getPool('odd')) ?? assert.fail();
  // No server of today stores such a quantity.
  const members = [aNode({ name: 'a', allocatable: { cpu: 'four' } })];
  const status = computeStatus(pool, { ...EMPTY_OBSERVATION, members }, '2026-01-01T00:00:00Z');
  await api().expect('PATCH', `${POOLS}/odd/status`, { status });
  const [{ status: reading, message }] = await readings('odd');
  assert.deepEqual([status.status, reading], [500, 'Failed']);
  assert.match(message, /node a: /);
});

test('a pool with an invalid spec is Failed with the field', async () => {
  await useCrd(testEnv.cluster(), 'earlier schema');
  await testEnv.pool('bad', { labels: { 'kubernetes.io/hostname': 'x' } });
  await useCrd(testEnv.cluster(), 'ours');
  await testEnv.reconcile('bad');
  assert.equal(await statesOf('bad'), 'Failed,Degraded');
  for (const { message } of await readings('bad')) assert.match(message, /spec\.labels/);
});

test('a paused pool is InProgress and Suspended while nodes wait, then Current', async () => {
  await testEnv.nodes({ name: 'a', labels: role('idle') });
  await testEnv.pool('idle', { labels: { tier: 'gold' }, paused: true });
  await testEnv.reconcile('idle');
  assert.equal(await statesOf('idle'), 'InProgress,Suspended');
  for (const { message } of await readings('idle')) assert.match(message, /^the pool is paused and 1 of 1 node waits/);
  await testEnv.edit('idle', { spec: { labels: null } });
  await testEnv.reconcile('idle');
  assert.equal(await statesOf('idle'), 'Current,Suspended');
});

test('a rollout is InProgress, Failed while it is stopped, and Current when complete', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 1, settleSeconds: 600 } });
  await testEnv.reconcile('web');
  assert.equal(await statesOf('web'), 'Current,Healthy');
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  await testEnv.reconcile('web');
  assert.equal(await statesOf('web'), 'InProgress,Progressing');
  for (const { message } of await readings('web')) assert.match(message, /^1 of 2 nodes updated, 1 settling/);
  await setReady(testEnv.cluster(), 'a', false);
  await testEnv.reconcile('web');
  assert.equal(await statesOf('web'), 'Failed,Degraded');
  await setReady(testEnv.cluster(), 'a', true);
  await testEnv.edit('web', { spec: { rollout: { settleSeconds: 0 } } });
  await testEnv.reconcile('web');
  await testEnv.reconcile('web');
  assert.equal(await statesOf('web'), 'Current,Healthy');
});

test('a pool that is being deleted is Terminating', async () => {
  await testEnv.pool('going', {}, { metadata: { finalizers: [FINALIZER] } });
  await testEnv.reconcile('going');
  await api().expect('DELETE', `${POOLS}/going`);
  assert.equal(await statesOf('going'), 'Terminating,Progressing');
});
