/** The impact on pods, and on workloads, that a custom resource has created. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod } = poolsWithPods(testEnv);
const APPS = '/apis/apps/v1/namespaces/default';
const postgres = { apiVersion: 'postgresql.example.com/v1', kind: 'Cluster', name: 'pg' };
const spread = (topologyKey: string) => [
  { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'pg' } } },
];

test('names a custom resource once for all its pods that select the label, on any node', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: { tier: 'web' } }, { name: 'c' });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
  for (const at of [1, 2, 3])
    await pod({ name: `pg-${at}`, node: 'b', owner: postgres, nodeSelector: { tier: 'web' } });
  await pod({ name: 'pg-4', node: 'c', owner: postgres, more: { topologySpreadConstraints: spread('tier') } });
  const other = { ...postgres, name: 'other' };
  await pod({ name: 'other-1', node: 'b', owner: other });
  const set = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'gone' };
  await pod({ name: 'gone-0', node: 'b', owner: set, nodeSelector: { tier: 'web' } });
  await testEnv.edit('web', { spec: { labels: { tier: 'old' } } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(stdout, /^ {2}selected by Cluster default\/pg \(nodeSelector, topology spread\)$/m);
  await testEnv.patchNode('b', { metadata: { labels: { tier: null } } });
  const last = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(last.stdout, /^ {2}selected by Cluster default\/pg \(.*: new pods would stay Pending\)$/m);
});

test('names the workloads of a custom resource, without its earlier ReplicaSets', async t => {
  const kinds = ['statefulsets', 'replicasets'];
  t.after(() => Promise.all(kinds.map(kind => raw(cluster()).expect('DELETE', `${APPS}/${kind}`))));
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
  const labels = { app: 'x' };
  const spec = { nodeSelector: { tier: 'web' }, containers: [{ name: 'c', image: 'i' }] };
  const template = { metadata: { labels }, spec };
  const create = (kind: string, name: string, replicas: number, apiVersion = 'example.com/v1') =>
    raw(cluster()).expect('POST', `${APPS}/${kind}`, {
      metadata: { name, ownerReferences: [{ apiVersion, kind: 'Rollout', name: 'o', uid: 'u', controller: true }] },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template,
        ...(kind === 'statefulsets' && { serviceName: 's' }),
      },
    });
  await create('statefulsets', 'prometheus', 0);
  await create('replicasets', 'shop-2', 3);
  await create('replicasets', 'shop-1', 0);
  await create('replicasets', 'of-deployment', 3, 'apps/v1');
  await testEnv.edit('web', { spec: { labels: { tier: 'old' } } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(
    stdout,
    /^ {2}selected by ReplicaSet default\/shop-2 \(nodeSelector: new pods would stay Pending\), StatefulSet default\/prometheus \(nodeSelector: new pods would stay Pending\)$/m,
  );
});
