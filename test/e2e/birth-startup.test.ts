/**
 * manifests/born-in-pool.yaml also gives startup taints, by the same rules as reconcile; a node that is created with
 * its record counts as a member, and one that registers into a pool with a rollout joins it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubectl } from '../cluster/harness.ts';
import { before } from '../cluster/minor.ts';
import { setCondition } from '../cluster/nodes.ts';
import { apply, BIRTH_RECORD, inForce, markOf, POLICY, recordOf } from './birth.ts';
import { GROUP } from './kubelet.ts';
import { condition, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const SETUP = { key: 'setup', effect: 'NoSchedule' } as const;
const AGENT = { key: 'agent', effect: 'NoSchedule', until: { nodeCondition: 'AgentReady' } } as const;

const taints = async (...names: string[]) =>
  Promise.all(names.map(async name => taintsOf(await testEnv.node(name)).toSorted()));

test('sets startup taints once at birth, and lifts them with the condition or the pool', {
  skip,
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
  assert.deepEqual(await taints('early'), [[]], 'not set again');
  await setCondition(testEnv.cluster(), 'late', 'AgentReady', 'True');
  await testEnv.reconcile();
  assert.deepEqual(await taints('late'), [['setup:NoSchedule']]);
  await testEnv.delete(['one']);
  assert.deepEqual(await taints('early', 'late', 'own'), [[], [], ['setup:NoSchedule']]);
});

test('sets no startup taints on a node that registers with a record', {
  skip,
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

test('nodes that register in a pool with spec.rollout get the spec without waiting', {
  skip,
  timeout: 200_000,
}, async t => {
  await apply(testEnv.cluster(), POLICY);
  const rollout = { maxConcurrent: 1, settleSeconds: 60 };
  await testEnv.pool('one', { nodeSelector: { [GROUP]: 'one' }, labels: { tier: 'gold' }, rollout });
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const watching = await startWatching(t, testEnv.cluster());
  const names = ['a', 'b', 'c', 'd'];
  await testEnv.nodes(...names.map(name => ({ name, labels: { [GROUP]: 'one', tier: 'mine' }, ready: false })));
  const written = { pool: 'one', generation: 1, labels: { tier: 'gold' }, displaced: { labels: { tier: 'mine' } } };
  for (const name of names) {
    await eventually(`${name} has joined`, async () => (await testEnv.node(name)).metadata.labels.tier === 'gold');
    const node = await testEnv.node(name);
    assert.deepEqual([recordOf(node), node.metadata.annotations?.[BIRTH_RECORD]], [written, undefined]);
  }
  await eventually('it is no rollout', async () => (await testEnv.getPool('one'))?.status?.updatedNodeCount === 4);
  assert.equal(condition(await testEnv.getPool('one'), 'Progressing').reason, 'RolloutComplete');
  await watching.end();
});
