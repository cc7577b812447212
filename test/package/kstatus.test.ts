/** kstatus reads every state of a pool, as the server returns it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { useCrd } from '../e2e/earlier-crd.ts';
import { whileRefusing } from '../e2e/refusal.ts';
import { role, useTestEnv } from '../e2e/test-env.ts';
import { kstatusOf } from './kstatus.ts';

const testEnv = useTestEnv();
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const api = () => raw(testEnv.cluster());
const statusOf = async (pool: string) => kstatusOf(await api().expect('GET', `${POOLS}/${pool}`));

test('a pool is InProgress until its spec is reconciled, then Current', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'gold' } });
  assert.equal((await statusOf('one')).status, 'InProgress');
  await testEnv.reconcile('one');
  assert.equal((await statusOf('one')).status, 'Current');
  await testEnv.edit('one', { spec: { labels: { tier: 'silver' } } });
  assert.equal((await statusOf('one')).status, 'InProgress');
  await testEnv.reconcile('one');
  assert.equal((await statusOf('one')).status, 'Current');
});

test('a pool without a Ready node, and one in a conflict, are InProgress', async () => {
  await testEnv.nodes({ name: 'a', labels: role('idle'), ready: false });
  await testEnv.nodes({ name: 'b', labels: { ...role('first'), ...role('second') } });
  await testEnv.pool('idle');
  await testEnv.pool('first');
  await testEnv.pool('second', {}, { younger: true });
  await testEnv.reconcile();
  const [idle, second] = [await testEnv.getPool('idle'), await testEnv.getPool('second')];
  assert.deepEqual([idle?.status?.status, second?.status?.status], [503, 409]);
  assert.deepEqual(await statusOf('idle'), { status: 'InProgress', message: '0 of 1 node is Ready' });
  assert.equal((await statusOf('second')).status, 'InProgress');
  assert.equal((await statusOf('first')).status, 'Current');
});

test('a pool whose nodes cannot be written is Failed with the reason, and Current once they can', async () => {
  await testEnv.nodes({ name: 'a', labels: role('held') });
  await testEnv.pool('held', { labels: { tier: 'gold' } });
  const refusal = {
    group: '',
    resource: 'nodes',
    operation: 'UPDATE',
    unless: "object.metadata.name != 'a'",
    probe: ['PATCH', '/api/v1/nodes/a', { metadata: { labels: { x: 'y' } } }] as [string, string, unknown],
  } as const;
  await whileRefusing(testEnv.cluster(), refusal, async () => {
    await testEnv.reconcile('held');
    const { status, message } = await statusOf('held');
    assert.equal(status, 'Failed');
    assert.match(message, /1 of 1 node differs .*not in this test/);
  });
  await testEnv.reconcile('held');
  assert.equal((await statusOf('held')).status, 'Current');
});

test('a pool with an invalid spec is Failed with the field', async () => {
  await useCrd(testEnv.cluster(), 'earlier schema');
  await testEnv.pool('bad', { labels: { 'kubernetes.io/hostname': 'x' } });
  await useCrd(testEnv.cluster(), 'ours');
  await testEnv.reconcile('bad');
  const { status, message } = await statusOf('bad');
  assert.equal(status, 'Failed');
  assert.match(message, /spec\.labels/);
});

test('a pool that is being deleted is Terminating', async () => {
  await testEnv.pool('going', {}, { metadata: { finalizers: [FINALIZER] } });
  await testEnv.reconcile('going');
  await api().expect('DELETE', `${POOLS}/going`);
  assert.equal((await statusOf('going')).status, 'Terminating');
});
