/** manifests/born-in-pool.yaml gives startup taints, too, by the rules of those that reconcile gives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { before } from '../cluster/minor.ts';
import { setCondition } from '../cluster/nodes.ts';
import { apply, inForce, POLICY } from './birth.ts';
import { GROUP } from './kubelet.ts';
import { taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const SETUP = { key: 'setup', effect: 'NoSchedule' } as const;
const AGENT = { key: 'agent', effect: 'NoSchedule', until: { nodeCondition: 'AgentReady' } } as const;

const taints = async (...names: string[]) =>
  Promise.all(names.map(async name => taintsOf(await testEnv.node(name)).toSorted()));

test('startup taints are given at birth, not again after they are removed, and go with the condition and the pool', {
  skip: before(36, 'MutatingAdmissionPolicy is not in v1'),
}, async () => {
  await apply(testEnv.cluster(), POLICY);
  await testEnv.pool('one', { nodeSelector: { [GROUP]: 'one' }, startupTaints: [AGENT, SETUP] });
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const labels = { [GROUP]: 'one' };
  await testEnv.nodes({ name: 'early', labels }, { name: 'late', labels }, { name: 'own', labels, taints: [SETUP] });
  const both = ['agent:NoSchedule', 'setup:NoSchedule'];
  assert.deepEqual(await taints('early', 'late', 'own'), [both, both, both]);
  // Before the first reconcile an agent removes one, and the other's condition turns True.
  await testEnv.patchNode('early', { spec: { taints: [{ key: AGENT.key, effect: AGENT.effect }] } });
  await setCondition(testEnv.cluster(), 'early', 'AgentReady', 'True');
  await testEnv.reconcile();
  assert.deepEqual(await taints('early', 'late', 'own'), [[], both, both]);
  await testEnv.reconcile();
  assert.deepEqual(await taints('early'), [[]], 'not given again');
  await setCondition(testEnv.cluster(), 'late', 'AgentReady', 'True');
  await testEnv.reconcile();
  assert.deepEqual(await taints('late'), [['setup:NoSchedule']]);
  await testEnv.delete(['one']);
  assert.deepEqual(await taints('early', 'late', 'own'), [[], [], ['setup:NoSchedule']]);
});
