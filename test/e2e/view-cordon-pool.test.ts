/** `c` and `u` of `view` on a pool, with the names that clouds give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GKE } from '../cloud-names.ts';
import { createCloudCluster } from './cloud-cluster.ts';
import { openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ own: true });
const { cluster } = testEnv;
test('c and u of a pool change all its nodes that need it, and say how many', async t => {
  await createCloudCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>backend /m);
  terminal.type('c');
  await terminal.shows(/^Cordon 17 nodes of pool backend on cluster nodepool-demo\?/m);
  terminal.type('y');
  await terminal.shows(/^17 of 17 nodes cordoned$/m);
  const closed = await Promise.all(GKE.map(async name => (await testEnv.node(name)).spec.unschedulable));
  assert.deepEqual(new Set(closed), new Set([true]));
  assert.equal((await testEnv.getPool('backend'))?.status?.unschedulableNodeCount, 18);
  terminal.type('c');
  await terminal.shows(/^Pool backend has no node to cordon$/m);
  terminal.type('u');
  await terminal.shows(/^Uncordon 18 nodes of pool backend/m);
  terminal.type('y');
  await terminal.shows(/^18 of 18 nodes uncordoned$/m);
  assert.equal((await testEnv.getPool('backend'))?.status?.unschedulableNodeCount, 0);
});
