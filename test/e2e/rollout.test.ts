/** spec.rollout on a real API server: limits sampled from a watch, canary, stop, restart, and their messages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRecord } from '../../src/nodepool/plan/record.ts';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { setReady } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { nodeRefusal, whileRefusing } from './refusal.ts';
import { sampleRollout } from './rollout-samples.ts';
import { condition, type LiveNode, role, statuses, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { ok, unchanged } = commandsOf(testEnv.cluster);
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${String(at).padStart(4, '0')}`);
const create = (count: number) => testEnv.nodes(...names(count).map(name => ({ name, labels: role('web') })));
const edit = (tier: string) => testEnv.edit('web', { spec: { labels: { tier } } });
const changed = ({ metadata }: LiveNode) => parseRecord(metadata.annotations?.[RECORD_ANNOTATION])?.changed;
const progress = async () => {
  const { status, reason, message } = condition(await testEnv.getPool('web'), 'Progressing');
  return { status, reason, message };
};
const reasonIs = (reason: string) => async () =>
  (await testEnv.getPool('web'))?.status?.conditions?.some(
    each => each.type === 'Progressing' && each.reason === reason,
  );
const tiers = async (count: number) =>
  Promise.all(names(count).map(async name => (await testEnv.node(name)).metadata.labels.tier));

test('one-shot: takes one step at a time, which diff shows; joins and drift do not wait', async () => {
  await create(10);
  await testEnv.pool('web', {
    labels: { tier: '1' },
    rollout: { canary: 1, maxConcurrent: '30%', settleSeconds: 600 },
  });
  assert.deepEqual(statuses(await testEnv.reconcile()), { web: 200 });
  assert.deepEqual(await tiers(10), Array(10).fill('1'), 'those that join do not wait');
  assert.equal(changed(await testEnv.node('n0000')), undefined);
  assert.deepEqual(await progress(), { status: 'False', reason: 'RolloutComplete', message: '10 of 10 nodes updated' });

  await edit('2');
  const diff = await unchanged(['diff']);
  assert.equal(diff.code, 1);
  assert.match(diff.stdout, /^node n0000 \(pool web\)\n {2}~ label tier: 1 -> 2 {2}\(spec\)$/m);
  assert.match(diff.stdout, /^pool web: 9 nodes, later \(n0001, n0002, n0003 and 6 more\)$/m);
  assert.match(diff.stdout, /^pool web: 1 node now \(canary of 1\); then 9 nodes in 3 steps of at most 3$/m);
  assert.match(diff.stdout, /^1 node would change: 1 changed; 9 nodes would change later$/m);
  const first = await ok(['reconcile']);
  assert.match(
    first,
    /^web {2}Progressing {2}10 nodes \(1 updated\) .* 1 of 10 nodes updated, 1 settling \(n0000\), waiting for the canary \(1\) to settle; the next step is due in \d+s; to continue, run `kubectl nodepool reconcile web --wait`$/m,
  );
  assert.match(changed(await testEnv.node('n0000')) ?? '', /^\d{4}-.*Z$/);
  const pool = await testEnv.getPool('web');
  assert.equal(pool?.status?.updatedNodeCount, 1);
  assert.deepEqual([condition(pool, 'Progressing').status, condition(pool, 'Reconciling').status], ['True', 'True']);
  assert.equal(condition(pool, 'Applied').reason, 'RolloutInProgress');

  // Not in its turn, and repaired all the same: a node that has the current spec, or joins.
  await testEnv.patchNode('n0000', { metadata: { labels: { tier: 'drifted' } } });
  await testEnv.nodes({ name: 'x', labels: role('web') });
  await testEnv.reconcile();
  assert.deepEqual(await tiers(3), ['2', '1', '1']);
  assert.equal((await testEnv.node('x')).metadata.labels.tier, '2');
  await testEnv.edit('web', { spec: { rollout: { settleSeconds: 0 } } });
  for (const count of [4, 4, 2]) {
    const [summary] = await testEnv.reconcile();
    assert.equal(summary?.updated, count - (count === 2 ? 1 : 0), 'of 11, 30 % are 4');
  }
  await testEnv.reconcile();
  assert.deepEqual(await tiers(10), Array(10).fill('2'));
  assert.deepEqual((await progress()).reason, 'RolloutComplete');
  const events = (await testEnv.events('web')).map(({ type, reason }) => `${type} ${reason}`);
  assert.ok(!events.some(event => event.startsWith('Warning')), String(events));
  assert.ok(events.includes('Normal RolloutInProgress') && events.includes('Normal RolloutComplete'), String(events));

  // What changes nothing on nodes writes to none.
  const before = await Promise.all(names(10).map(async name => (await testEnv.node(name)).metadata.resourceVersion));
  await testEnv.edit('web', { spec: { handler: 'runc', rollout: { maxConcurrent: 2 } } });
  await testEnv.reconcile();
  await testEnv.edit('web', { spec: { rollout: null } });
  await testEnv.reconcile();
  assert.deepEqual(
    await Promise.all(names(10).map(async name => (await testEnv.node(name)).metadata.resourceVersion)),
    before,
  );
  assert.deepEqual(
    (await testEnv.getPool('web'))?.status?.conditions?.map(({ type }) => type),
    ['Ready', 'Applied', 'Conflict'],
  );
});

test('the watch keeps 20 % in flight of 200 nodes, even across SIGKILLs', {
  timeout: 120_000,
}, async t => {
  await create(200);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { maxConcurrent: '20%', settleSeconds: 1 } });
  let watching = await startWatching(t, testEnv.cluster());
  await eventually('all have joined', reasonIs('RolloutComplete'));
  const samples = await sampleRollout(t, testEnv.cluster(), '2', 1);
  await edit('2');
  for (const count of [20, 90]) {
    await eventually(`${count} are changed`, () => samples.changed() >= count);
    await watching.end('SIGKILL');
    watching = await startWatching(t, testEnv.cluster());
  }
  await eventually('all are changed', () => samples.changed() === 200, 60_000);
  await eventually('it is complete', reasonIs('RolloutComplete'));
  assert.equal((await progress()).message, '200 of 200 nodes updated');
  assert.ok(samples.most() <= 40, `${samples.most()} in flight`);
  t.diagnostic(`at most ${samples.most()} changed and not settled, in ${samples.count()} samples`);
  assert.ok(samples.most() > 30, 'it makes use of its places');
  assert.equal(samples.writes(), 200, 'one write a node');
  await watching.end();
});

test('a canary that turns NotReady stops the rollout until it is Ready', {
  timeout: 120_000,
}, async t => {
  const [count, canary] = [50, 5];
  await create(count);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary, settleSeconds: 4 } });
  const watching = await startWatching(t, testEnv.cluster());
  await eventually('all have joined', reasonIs('RolloutComplete'));
  const samples = await sampleRollout(t, testEnv.cluster(), '2', 4);
  await edit('2');
  await eventually('the canary is changed', () => samples.changed() === canary);
  await setReady(testEnv.cluster(), 'n0002', false);
  await eventually('it is stopped', reasonIs('RolloutStopped'));
  const pool = await testEnv.getPool('web');
  assert.match(
    condition(pool, 'Progressing').message,
    /^5 of 50 nodes updated; stopped: node n0002 turned NotReady after the change; /,
  );
  assert.deepEqual([condition(pool, 'Stalled').reason, pool?.status?.status], ['RolloutStopped', 200]);
  // Longer than the others of the canary need to settle.
  await sleep(6_000);
  assert.equal(samples.changed(), canary);
  assert.deepEqual(samples.order().toSorted(), names(canary));
  assert.ok(
    (await testEnv.events('web')).some(({ type, reason }) => type === 'Warning' && reason === 'RolloutStopped'),
  );
  const { code, stdout } = await unchanged(['diff']);
  assert.equal(code, 1);
  assert.match(stdout, /^pool web: stopped: node n0002 turned NotReady after the change; 45 nodes left$/m);
  await setReady(testEnv.cluster(), 'n0002', true);
  await eventually('it goes on', reasonIs('RolloutComplete'));
  assert.equal(samples.changed(), count);
  await watching.end();
});

test('restoring the previous spec reverts a stopped rollout', async t => {
  await create(12);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 2, settleSeconds: 6 } });
  const watching = await startWatching(t, testEnv.cluster());
  await eventually('all have joined', reasonIs('RolloutComplete'));
  await edit('2');
  await eventually('the canary is changed', async () => (await tiers(2)).every(tier => tier === '2'));
  await setReady(testEnv.cluster(), 'n0000', false);
  await eventually('it is stopped', reasonIs('RolloutStopped'));
  await edit('1');
  await eventually('it is taken back', async () => (await tiers(12)).every(tier => tier === '1'));
  await watching.end();
});

test('a canary that cannot be written, or is paused, makes the others wait', async () => {
  await create(5);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 1, settleSeconds: 0 } });
  await testEnv.reconcile();
  await edit('2');
  await whileRefusing(testEnv.cluster(), nodeRefusal('n0000'), async () => {
    assert.deepEqual(statuses(await testEnv.reconcile()), { web: 500 });
  });
  assert.deepEqual(await tiers(5), ['1', '1', '1', '1', '1']);
  await testEnv.edit('web', { spec: { paused: true } });
  await testEnv.reconcile();
  assert.equal((await progress()).reason, 'Paused');
  await testEnv.edit('web', { spec: { paused: null } });
  await testEnv.reconcile();
  assert.deepEqual(await tiers(5), ['2', '1', '1', '1', '1']);
  await testEnv.reconcile();
  assert.deepEqual(await tiers(5), ['2', '2', '2', '2', '2']);
});
