/** kstatus and Argo CD's health script read every state of a pool, as the server returns it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { useCrd } from '../e2e/earlier-crd.ts';
import { nodeRefusal, whileRefusing } from '../e2e/refusal.ts';
import { role, useTestEnv } from '../e2e/test-env.ts';
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

test('a pool without a Ready node, and one in a conflict, are InProgress', async () => {
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

test('a pool whose nodes cannot be written is Failed with the reason, and Current once they can', async () => {
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

test('a pool with an invalid spec is Failed with the field', async () => {
  await useCrd(testEnv.cluster(), 'earlier schema');
  await testEnv.pool('bad', { labels: { 'kubernetes.io/hostname': 'x' } });
  await useCrd(testEnv.cluster(), 'ours');
  await testEnv.reconcile('bad');
  assert.equal(await statesOf('bad'), 'Failed,Degraded');
  for (const { message } of await readings('bad')) assert.match(message, /spec\.labels/);
});

test('a pool that is being deleted is Terminating', async () => {
  await testEnv.pool('going', {}, { metadata: { finalizers: [FINALIZER] } });
  await testEnv.reconcile('going');
  await api().expect('DELETE', `${POOLS}/going`);
  assert.equal(await statesOf('going'), 'Terminating,Progressing');
});
