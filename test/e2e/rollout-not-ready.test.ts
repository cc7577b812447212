/** spec.rollout on a real API server: a rollout completes although nodes are NotReady. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { setReady } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { ok } = commandsOf(testEnv.cluster);
const resume = () => cli(testEnv.cluster(), ['rollout', 'resume', 'web']);
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const tiers = async (count: number) =>
  Promise.all(names(count).map(async name => (await testEnv.node(name)).metadata.labels.tier));
const all = (count: number, tier: string) => async () => (await tiers(count)).every(each => each === tier);
const says = (wanted: RegExp) => async () => {
  const conditions = (await testEnv.getPool('web'))?.status?.conditions ?? [];
  return conditions.some(({ type, reason, message }) => type === 'Progressing' && wanted.test(`${reason}: ${message}`));
};

test('completes a rollout with nodes that were NotReady before their change', { timeout: 120_000 }, async t => {
  const ready = (name: string) => !['n2', 'n3'].includes(name);
  await testEnv.nodes(...names(4).map(name => ({ name, labels: role('web'), ready: ready(name) })));
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { maxConcurrent: 1, settleSeconds: 1 } });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  await eventually('all are changed', all(4, '2'));
  await eventually(
    'it is complete',
    says(/^RolloutComplete: 4 of 4 nodes updated without waiting for nodes n2, n3 \(NotReady before the change\)$/),
  );
  assert.equal(await ok(['rollout', 'status', 'web']), 'nodepool "web" successfully rolled out\n');
  await watching.end();
});

test('with stopOnNotReady: false names a failed node, and resume accepts it', { timeout: 120_000 }, async t => {
  await testEnv.nodes(...names(3).map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { settleSeconds: 6, stopOnNotReady: false } });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  assert.match((await resume()).stderr, /is not paused or stopped/);
  await eventually('all are changed', all(3, '2'));
  // Before the last node has settled.
  await setReady(testEnv.cluster(), 'n1', false);
  await eventually(
    'it waits for that node alone',
    says(/^RolloutInProgress: 3 of 3 nodes updated, 1 settling; node n1 is NotReady: fix it, or continue without it /),
  );
  assert.equal((await resume()).stdout, 'nodepool.nodes.lailin.xyz/web resumed\n');
  await eventually('it is complete', says(/^RolloutComplete/));
  assert.equal((await resume()).code, 1, 'nothing is left to accept');
  await watching.end();
});
