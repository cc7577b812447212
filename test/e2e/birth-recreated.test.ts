/** manifests/born-in-pool.yaml and a node that is created with a record, as by `kubectl replace --force`: it is not born. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubectl } from '../cluster/harness.ts';
import { before } from '../cluster/minor.ts';
import { setCondition } from '../cluster/nodes.ts';
import { apply, inForce, markOf, POLICY, recordOf } from './birth.ts';
import { GROUP } from './kubelet.ts';
import { taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const AGENT = { key: 'agent', effect: 'NoSchedule', until: { nodeCondition: 'AgentReady' } } as const;

test('a node that comes with its record gets no startup taint again', {
  skip: before(36, 'MutatingAdmissionPolicy is not in v1'),
}, async () => {
  await apply(testEnv.cluster(), POLICY);
  const labels = { [GROUP]: 'one' };
  await testEnv.pool('one', { nodeSelector: labels, startupTaints: [AGENT] });
  await inForce(testEnv, 'one', labels);
  await testEnv.nodes({ name: 'a', labels });
  await setCondition(testEnv.cluster(), 'a', 'AgentReady', 'True');
  await testEnv.reconcile();
  const record = { pool: 'one', generation: 1, startup: { 'agent:NoSchedule': null } };
  assert.deepEqual([recordOf(await testEnv.node('a')), taintsOf(await testEnv.node('a'))], [record, []]);

  const dump = await kubectl(testEnv.cluster(), ['get', 'node', 'a', '-o', 'json']);
  const replaced = await kubectl(testEnv.cluster(), ['replace', '--force', '-f', '-'], { stdin: dump.stdout });
  assert.deepEqual([replaced.code, replaced.stderr], [0, '']);
  const node = await testEnv.node('a');
  assert.deepEqual([recordOf(node), markOf(node), taintsOf(node)], [record, undefined, []]);
  await testEnv.reconcile();
  assert.deepEqual(taintsOf(await testEnv.node('a')), []);
});
