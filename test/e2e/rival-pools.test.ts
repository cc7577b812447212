/** Other writers that revert pools as often as `reconcile --watch` writes them. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FINALIZER, type NodePool, TAKEOVER_ANNOTATION } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { useCrd } from './earlier-crd.ts';
import { condition, role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const FOUGHT_MS = 8_000;

/** Repeats each of these beside a watch; returns what the watch wrote and logged. */
async function fight(t: TestContext, steps: (() => Promise<unknown>)[]) {
  const mark = await auditMark(cluster());
  const watching = await startWatching(t, cluster());
  const end = performance.now() + FOUGHT_MS;
  const repeat = async (step: () => Promise<unknown>) => {
    while (performance.now() < end) {
      await step();
      await sleep(50);
    }
  };
  await Promise.all(steps.map(repeat));
  const counts = await writes(cluster(), mark);
  return { watching, counts };
}

/** 20 writes at once, then one in 2 s, and some for a few specs and seconds more. */
const MAX_STATUSES = 20 + FOUGHT_MS / 2_000 + 4;

test('limits writes when another operator overwrites status and finalizer', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: role('counted') }, { name: 'b', labels: role('bare') });
  await testEnv.pool('counted', { labels: { tier: 'gold' } });
  await testEnv.pool('bare', { labels: { tier: 'gold' } });
  const overwriteStatus = async () => {
    const pool = await testEnv.getPool('counted');
    if (pool?.status?.conditions === undefined) return;
    const status = { allocatable: { cpu: '4' }, nodeCount: 1, status: 200 };
    await raw(cluster()).request('PUT', `${POOLS}/counted/status`, { ...pool, status });
  };
  const stripFinalizer = async () => {
    if ((await testEnv.getPool('bare'))?.metadata.finalizers)
      await testEnv.edit('bare', { metadata: { finalizers: [] } });
  };
  const { watching, counts } = await fight(t, [overwriteStatus, stripFinalizer]);

  const statuses = counts['patch nodepools/status counted'] ?? 0;
  assert.ok(statuses >= 20 && statuses <= MAX_STATUSES, `${statuses} writes of the status`);
  assert.equal(counts['patch nodepools bare'], 10, 'the limit of a minute');
  const pool = await testEnv.getPool('bare');
  assert.equal(pool?.status?.status, 500);
  const says = `finalizer ${FINALIZER} of pool bare reached the limit of 10 writes within a minute: something else keeps removing it`;
  assert.equal(condition(pool, 'Applied').message, says);
  await eventually('an event says so', async () =>
    (await testEnv.events('bare')).some(({ type, note }) => type === 'Warning' && note === says),
  );
  assert.equal((await testEnv.node('b')).metadata.labels.tier, 'gold');
  assert.equal(await watching.end(), 0);
});

test('limits writes under an earlier CRD, with flapping nodes or a stripped takeover mark', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: role('flapping') }, { name: 'b', labels: role('stripped') });
  await testEnv.pool('flapping', { labels: { tier: 'gold' } });
  await testEnv.pool('stripped', { labels: { tier: 'gold' } });
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  let memory = 3_000_000;
  const flap = () =>
    raw(cluster()).expect('PATCH', '/api/v1/nodes/a/status', { status: { allocatable: { memory: `${memory++}Ki` } } });
  const strip = async () => {
    const { metadata } = (await testEnv.getPool('stripped')) as NodePool;
    const value = metadata.annotations?.[TAKEOVER_ANNOTATION];
    if (value === undefined || value === 'theirs') return;
    await raw(cluster()).expect('PATCH', `${POOLS}/stripped?fieldManager=rival-operator`, {
      metadata: { annotations: { [TAKEOVER_ANNOTATION]: 'theirs' } },
    });
  };
  const { watching, counts } = await fight(t, [flap, strip]);

  for (const name of ['flapping', 'stripped']) {
    const statuses = counts[`patch nodepools/status ${name}`] ?? 0;
    assert.ok(statuses <= MAX_STATUSES, `${statuses} writes of the status of ${name}`);
  }
  // Setting its finalizer is one more.
  assert.equal(counts['patch nodepools stripped'], 11, 'the limit of a minute');
  const says = `annotation ${TAKEOVER_ANNOTATION} of pool stripped reached the limit of 10 writes within a minute: something else (field manager rival-operator) keeps removing it`;
  await eventually('an event says so', async () =>
    (await testEnv.events('stripped')).some(({ type, note }) => type === 'Warning' && note === says),
  );
  assert.equal(await watching.end(), 0);
});
