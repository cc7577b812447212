/** `noExecute: Drain`: nodes that join a pool before its first reconcile. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
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
  const added = await cliHere(cluster(), ['add', 'web', 'joins', '--yes']);
  assert.deepEqual([added.code, added.stdout], [0, 'node/joins added to pool web\n'], added.stderr);
  assert.match(added.stderr, /^pod default\/on-joins evicted$/m);
  const moved = await cliHere(cluster(), ['move', 'moves', '--to', 'web', '--yes']);
  assert.equal(moved.code, 0, moved.stderr);
  // A spec that was not applied to the others yet.
  assert.equal((await cliHere(cluster(), ['edit', 'web', '--label', 'tier=2', '--yes'])).code, 0);
  const deleted = await cliHere(cluster(), ['delete', 'old', '--yes']);
  assert.equal(deleted.code, 0, deleted.stderr);
  for (const name of ['joins', 'moves', 'both'])
    assert.equal(taintsOf(await testEnv.node(name)).join(), 'dedicated=x:NoExecute', name);
  assert.deepEqual(await pods.names(), []);
});

test('a node that loses its record during a drain keeps the stand-in taint', async () => {
  await testEnv.nodes({ name: 'forgotten', labels: role('web') });
  const taint = { key: 'dedicated', value: 'x' };
  await testEnv.pool('web', { noExecute: 'Drain', taints: [{ ...taint, effect: 'NoExecute' }], labels: { tier: '1' } });
  await pods.pod({ name: 'p', node: 'forgotten', graceSeconds: 0, labels: { app: 'x' } });
  await pods.budget('x', { app: 'x' }, 0);
  await cliHere(cluster(), ['reconcile', 'web', '--yes', '--timeout', '1s']);
  const draining = await testEnv.node('forgotten');
  assert.deepEqual([taintsOf(draining), draining.metadata.labels.tier], [['dedicated=x:NoSchedule'], '1']);
  await testEnv.patchNode('forgotten', { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
  await testEnv.nodes({
    name: 'theirs',
    labels: { ...role('web'), tier: '1' },
    taints: [{ ...taint, effect: 'NoSchedule' }],
  });
  await pods.budget('x', { app: 'x' }, 1);
  const reconciled = await cliHere(cluster(), ['reconcile', 'web', '--yes']);
  assert.equal(reconciled.code, 0, reconciled.stderr);
  const of = async (name: string) => {
    const node = await testEnv.node(name);
    return [taintsOf(node).toSorted(), node.metadata.labels.tier];
  };
  for (const name of ['forgotten', 'theirs'])
    assert.deepEqual(await of(name), [['dedicated=x:NoExecute', 'dedicated=x:NoSchedule'], '1'], name);
  await testEnv.delete(['web']);
  for (const name of ['forgotten', 'theirs']) assert.deepEqual(await of(name), [['dedicated=x:NoSchedule'], '1'], name);
});
