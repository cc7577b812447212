/** Pools of the earlier operator whose nodes wait: nodes that join meanwhile keep their own values. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NodePoolSpec, TAKEOVER_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { setReady } from '../cluster/nodes.ts';
import { recordOf } from './birth.ts';
import { poolsWithPods } from './draining.ts';
import { inheritedPool } from './inherited-pool.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const pods = poolsWithPods(testEnv);
const GOLD = { ...role('p'), tier: 'gold' };
const run = (...args: string[]) => cli(cluster(), args);
const labels = async (...names: string[]) =>
  Promise.all(names.map(async name => (await testEnv.node(name)).metadata.labels));
const tiers = async (...names: string[]) => (await labels(...names)).map(({ tier }) => tier);
const takeover = async () => (await testEnv.getPool('p'))?.metadata.annotations?.[TAKEOVER_ANNOTATION];
const progress = async () => condition(await testEnv.getPool('p'), 'Progressing').reason;

/** The rest of the takeover; b joined after the first run. */
async function endsRight(): Promise<void> {
  assert.equal(await takeover(), 'finished');
  await testEnv.nodes({ name: 'joins', labels: GOLD });
  await run('reconcile', '--timeout=2s');
  assert.equal((await run('delete', 'p', '--yes')).code, 0);
  assert.deepEqual(await tiers('a', 'b', 'joins'), [undefined, undefined, 'gold']);
}

test('the takeover ends correctly despite a rollout in progress and then stopped', { timeout: 120_000 }, async () => {
  const rollout = { maxConcurrent: 1, settleSeconds: 600 };
  await testEnv.nodes({ name: 'a', labels: GOLD }, { name: 'b', labels: GOLD });
  const spec: NodePoolSpec = { labels: { tier: 'gold', added: 'x' }, rollout };
  await inheritedPool(cluster(), spec);
  assert.equal((await run('reconcile')).code, 0);
  assert.deepEqual([await takeover(), await progress()], ['finished', 'RolloutInProgress']);
  assert.deepEqual(
    (await labels('a', 'b')).map(({ added }) => added),
    ['x', undefined],
  );
  assert.deepEqual(recordOf(await testEnv.node('b')), { pool: 'p', labels: { tier: 'gold' } }, 'the record alone');
  const { resourceVersion } = (await testEnv.node('b')).metadata;
  await setReady(cluster(), 'a', false);
  assert.equal((await run('reconcile')).code, 3);
  assert.equal(await progress(), 'RolloutStopped');
  assert.equal((await testEnv.node('b')).metadata.resourceVersion, resourceVersion, 'once');
  await endsRight();
});

test('the takeover ends correctly despite a drain that a budget blocks', { timeout: 120_000 }, async () => {
  const taints = [{ key: 'dedicated', value: 'x', effect: 'NoExecute' as const }];
  await testEnv.nodes({ name: 'a', labels: GOLD }, { name: 'b', labels: GOLD });
  for (const node of ['a', 'b']) await pods.pod({ name: `p-${node}`, node, labels: { app: 'web' }, graceSeconds: 0 });
  await pods.budget('web', { app: 'web' }, 0);
  await inheritedPool(cluster(), { labels: { tier: 'gold' }, taints, noExecute: 'Drain' });
  await run('reconcile', '--yes', '--timeout=2s');
  assert.deepEqual(taintsOf(await testEnv.node('b')), ['dedicated=x:NoSchedule']);
  await endsRight();
});
