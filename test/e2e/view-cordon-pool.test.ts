/** `c` and `u` of `view` on a pool, with the names that clouds give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GKE } from '../cloud-names.ts';
import { kubectl } from '../cluster/harness.ts';
import { createCloudCluster } from './cloud-cluster.ts';
import { openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const states = async () =>
  new Set(await Promise.all(GKE.map(async name => (await testEnv.node(name)).spec.unschedulable ?? false)));

test('c and u on a pool run its commands, and u names a node that somebody else cordoned', async t => {
  await createCloudCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>backend /m);
  terminal.type('c');
  await terminal.shows(/^This cordons all nodes of pool backend on cluster nodepool-demo\.[\s\S]*cordon backend$/m);
  terminal.type('{esc}');
  await terminal.shows(/^>backend /m);
  await terminal.asks('c', /nodepool cordon backend /);
  terminal.type('{enter}');
  await terminal.shows(/Press enter to return/);
  terminal.type('{enter}');
  await terminal.shows(/^>backend /m);
  assert.deepEqual(await states(), new Set([true]));
  const [theirs = ''] = GKE;
  await kubectl(cluster(), ['uncordon', theirs]);
  await kubectl(cluster(), ['cordon', theirs]);
  await terminal.asks('u', /nodepool uncordon backend /);
  terminal.type('{enter}');
  const question = await terminal.shows(/\[y\/N\]$/m);
  assert.match(question, new RegExp(theirs.slice(-12)));
  terminal.type('y{enter}');
  await terminal.shows(/uncordoned[\s\S]*Press enter to return/m);
  assert.deepEqual(await states(), new Set([false]));
  assert.equal((await testEnv.getPool('backend'))?.status?.unschedulableNodeCount, 0);
});
