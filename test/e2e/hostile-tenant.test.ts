/** What a user who may only write NodePools can achieve through `reconcile --watch` of an administrator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { REPLACED_ANNOTATION } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { clientCertificate } from '../cluster/certificates.ts';
import { raw, rawClient } from '../cluster/raw.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

/** A client of mallory, who has the role nodepool.lailin.xyz:edit of the manifest. */
async function mallory() {
  const rules = [{ apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['*'] }];
  const metadata = { name: 'mallory' };
  await raw(cluster()).request('POST', `${RBAC}/clusterroles`, { metadata, rules });
  await raw(cluster()).request('POST', `${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mallory' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'mallory' }],
  });
  const { server, ca, authority } = cluster();
  const client = rawClient(server, ca, clientCertificate(authority, 'mallory'));
  const pool = (name: string, spec: object) =>
    client.request('POST', POOLS, { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name }, spec });
  await eventually('the role holds', async () => (await client.request('GET', POOLS)).status === 200);
  return pool;
}

test('the server refuses labels and taints of the cluster, and unmanaged: Remove keeps them', async t => {
  const pool = await mallory();
  for (const spec of [
    { labels: { 'kubernetes.io/hostname': 'x' } },
    { labels: { 'node.kubernetes.io/instance-type': 'x' } },
    { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] },
    { nodeSelector: { a: 'b' }, labels: { a: 'c' } },
    { nodeSelector: {} },
  ]) {
    assert.equal((await pool('bad', spec)).status, 422, JSON.stringify(spec));
  }
  assert.equal((await pool('control-plane', { taints: [{ key: 'a', effect: 'NoExecute' }] })).status, 422);
  const labels = {
    'topology.kubernetes.io/zone': 'z',
    'node-restriction.kubernetes.io/x': 'y',
    'k8s.example.com/a': 'b',
  };
  const taints = [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' as const }];
  await testEnv.nodes({ name: 'a', labels: { ...role('strip'), ...labels }, taints });
  await startWatching(t, cluster());
  assert.equal((await pool('strip', { unmanaged: 'Remove' })).status, 201);
  await eventually('it is applied', async () => !('k8s.example.com/a' in (await testEnv.node('a')).metadata.labels));
  const { metadata, ...node } = await testEnv.node('a');
  assert.equal(metadata.labels['topology.kubernetes.io/zone'], 'z');
  assert.equal(metadata.labels['node-restriction.kubernetes.io/x'], 'y');
  assert.equal(metadata.labels['kubernetes.io/hostname'], 'a');
  assert.deepEqual(taintsOf({ metadata, ...node }), ['node.kubernetes.io/unreachable:NoExecute']);
});

test('keeps a foreign RuntimeClass while the pool exists and when it is deleted', async t => {
  const pool = await mallory();
  const path = '/apis/node.k8s.io/v1/runtimeclasses';
  const foreign = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'node-pool-x' },
    handler: 'safe',
  };
  const made = await raw(cluster()).expect('POST', path, foreign);
  await startWatching(t, cluster());
  await pool('x', { handler: 'evil' });
  await eventually('it is reported', async () => (await testEnv.getPool('x'))?.status?.status === 409);
  assert.equal(condition(await testEnv.getPool('x'), 'Conflict').reason, 'RuntimeClassConflict');
  await raw(cluster()).expect('DELETE', `${POOLS}/x`);
  await eventually('the pool goes', async () => (await testEnv.getPool('x')) === undefined);
  assert.deepEqual(await raw(cluster()).expect('GET', `${path}/node-pool-x`), made);
});

test('does not loop on pools that would move nodes to each other forever', { timeout: 120_000 }, async t => {
  const pool = await mallory();
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: { x: '1' } }, { name: 'c' });
  await startWatching(t, cluster());
  await pool('one', { labels: { x: '1' } });
  await eventually('one is applied', async () => (await testEnv.node('a')).metadata.labels.x === '1');
  await pool('two', { nodeSelector: { x: '1' }, labels: { y: '1', ...role('one') } });
  await pool('three', { nodeSelector: { y: '1' }, labels: { x: '2', ...role('four') }, unmanaged: 'Remove' });
  await pool('four', { labels: { ...role('three') }, nodeSelector: role('four'), unmanaged: 'Remove' });
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/one': null, x: null } } });
  await sleep(3_000);
  const writes = async () =>
    (await readAudit(cluster())).filter(({ verb, uri }) => verb !== 'watch' && !uri.includes('/leases')).length;
  const before = await writes();
  await sleep(10_000);
  const more = (await writes()) - before;
  assert.ok(more < 20, `${more} requests in 10 s`);
});

test('a forged annotation adds only valid fields to the RuntimeClass of its own pool', async () => {
  const podFixed = { cpu: '-1', memory: 'much', 'a b': '1' };
  const forged = {
    labels: { team: 'a', 'a b': 'x' },
    overhead: { podFixed },
    metadata: { finalizers: ['example.com/hold'] },
    handler: 'other',
  };
  const annotate = (name: string, uid: string | undefined) =>
    testEnv.edit(name, {
      metadata: { annotations: { [REPLACED_ANNOTATION]: JSON.stringify({ pool: uid, ...forged }) } },
    });
  const { metadata } = await testEnv.pool('w', { handler: 'runc' });
  await testEnv.pool('x', { handler: 'runc' });
  for (const name of ['w', 'x']) await annotate(name, metadata.uid);
  await testEnv.reconcile();
  const [w, x] = [await testEnv.runtimeClass('w'), await testEnv.runtimeClass('x')];
  assert.deepEqual(
    [w?.metadata.labels, w?.overhead, w?.metadata.finalizers, w?.handler],
    [{ team: 'a' }, undefined, undefined, 'runc'],
  );
  assert.equal(x?.metadata.labels, undefined);
  for (const name of ['w', 'x'])
    assert.equal((await testEnv.getPool(name))?.metadata.annotations?.[REPLACED_ANNOTATION], undefined);
});
