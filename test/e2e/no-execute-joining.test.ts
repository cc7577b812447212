/** `noExecute: Drain`: nodes that come to a pool of which nothing was reconciled yet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { poolsWithPods } from './draining.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const pods = poolsWithPods(testEnv);

test('add, move and delete wait for the evictions of a pool that was never reconciled', {
  timeout: 120_000,
}, async () => {
  await testEnv.nodes({ name: 'joins' }, { name: 'moves' }, { name: 'both', labels: { old: 'x', ...role('web') } });
  await testEnv.pool('old', { nodeSelector: { old: 'x' } });
  await testEnv.reconcile();
  for (const node of ['joins', 'moves', 'both']) await pods.pod({ name: `on-${node}`, node, graceSeconds: 0 });
  await testEnv.pool(
    'web',
    { noExecute: 'Drain', taints: [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }] },
    { younger: true },
  );
  const added = await cli(cluster(), ['add', 'web', 'joins', '--yes']);
  assert.deepEqual([added.code, added.stdout], [0, 'node/joins added to pool web\n'], added.stderr);
  assert.match(added.stderr, /^pod default\/on-joins evicted$/m);
  const moved = await cli(cluster(), ['move', 'moves', '--to', 'web', '--yes']);
  assert.equal(moved.code, 0, moved.stderr);
  // A spec that was not applied to the others yet.
  assert.equal((await cli(cluster(), ['edit', 'web', '--label', 'tier=2', '--yes'])).code, 0);
  const deleted = await cli(cluster(), ['delete', 'old', '--yes']);
  assert.equal(deleted.code, 0, deleted.stderr);
  for (const name of ['joins', 'moves', 'both'])
    assert.equal(taintsOf(await testEnv.node(name)).join(), 'dedicated=x:NoExecute', name);
  assert.deepEqual(await pods.names(), []);
});
