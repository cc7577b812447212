/** The impact on pods with volumes. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { bindScratch, createClasses, scratch, ZONE } from './ephemeral-volumes.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod } = poolsWithPods(testEnv);
const impact = (...args: string[]) => cliHere(cluster(), ['diff', 'web', '--impact', ...args]);

beforeEach(async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b' });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
});

test('lists claims only if a pod on a changed node has one', async () => {
  await pod({ name: 'elsewhere', node: 'b', claim: 'data' });
  await testEnv.edit('web', { spec: { labels: { tier: 'other' } } });
  assert.doesNotMatch((await impact('-v', '6')).stderr, /persistentvolumeclaims/);
  await pod({ name: 'here', node: 'a', claim: 'data' });
  assert.match((await impact('-v', '6')).stderr, /namespaces\/default\/persistentvolumeclaims/);
});

test('recreated pods with an ephemeral volume go where its StorageClass can provision a new volume', async () => {
  await createClasses(raw(cluster()));
  for (const [name, zone] of Object.entries({ a: 'east', b: 'west' }))
    await testEnv.patchNode(name, { metadata: { labels: { [ZONE]: zone } } });
  const owners = { anywhere: 'Deployment', east: 'StatefulSet' } as const;
  for (const [name, kind] of Object.entries(owners))
    for (const at of [0, 1])
      await pod({
        name: `${name}-${at}`,
        node: 'a',
        owner: { apiVersion: 'apps/v1', kind, name },
        more: scratch(name),
      });
  await bindScratch(raw(cluster()), 'anywhere-0', 'east');
  await testEnv.edit('web', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } });
  const { stdout, stderr } = await impact();
  assert.ok(
    stdout.includes(`
Evicted pods:
  2 pods of Deployment default/anywhere: can go: 2 on node b (no pool)
  2 pods of StatefulSet default/east: 1 would stay Pending: 1 node(s) didn't find available persistent volumes to bind, 1 node(s) had untolerated taint(s); 1 other pod waits because podManagementPolicy is OrderedReady
`),
    stdout + stderr,
  );
});

test('counts pods with ephemeral volumes as unschedulable when a StorageClass excludes the node', async () => {
  await createClasses(raw(cluster()));
  await testEnv.edit('web', { spec: { labels: { [ZONE]: 'east' } } });
  await testEnv.reconcile();
  for (const name of ['anywhere', 'east']) await pod({ name, node: 'a', more: scratch(name) });
  await testEnv.edit('web', { spec: { labels: { [ZONE]: 'west' } } });
  const { stdout, stderr } = await impact();
  assert.match(
    stdout,
    /^ {2}1 pod of ReplicaSet default\/web keeps running, but could not be scheduled there again$/m,
    stderr,
  );
});
