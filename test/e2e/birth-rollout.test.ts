/** Nodes that are born in a pool with spec.rollout join it: they do not wait for a turn, nor stop a rollout. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { before } from '../cluster/minor.ts';
import { apply, BIRTH_RECORD, inForce, POLICY, recordOf } from './birth.ts';
import { GROUP } from './kubelet.ts';
import { condition, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ own: true });

const skip = before(36, 'MutatingAdmissionPolicy is not in v1');

test('nodes that are not Ready yet, with a label of their own', { skip, timeout: 200_000 }, async t => {
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
