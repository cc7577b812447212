/** spec.rollout on a real API server: no other node changes before the canary has settled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRecord } from '../../src/nodepool/plan/record.ts';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { deleteNodes, setReady } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { condition, role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { unchanged } = commandsOf(testEnv.cluster);
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const create = (count: number) => testEnv.nodes(...names(count).map(name => ({ name, labels: role('web') })));
const labelsOf = async (count: number) =>
  Promise.all(names(count).map(async name => (await testEnv.node(name)).metadata.labels));
const progress = async () => {
  const { reason, message } = condition(await testEnv.getPool('web'), 'Progressing');
  return `${reason}: ${message}`;
};
const says = (wanted: RegExp) => async () =>
  wanted.test((await testEnv.getPool('web'))?.status === undefined ? '' : await progress());

test('deleting a canary node or shrinking the canary does not release the others', async t => {
  await create(9);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: '50%', settleSeconds: 600 } });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  await eventually('the canary is changed', says(/^RolloutInProgress: 5 of 9 nodes updated, 5 settling/));
  await deleteNodes(testEnv.cluster(), ['n8']);
  await eventually('the node is gone', says(/ of 8 nodes /));
  await testEnv.edit('web', { spec: { rollout: { canary: 1 } } });
  await eventually('the canary is smaller', says(/waiting for the canary \(1\)/));
  await sleep(1_000);
  assert.match(
    await progress(),
    /^RolloutInProgress: 5 of 8 nodes updated, 5 settling \(.* and 2 more\), waiting for the canary \(1\) to settle/,
  );
  await watching.end();
});

test('nodes changed by an earlier rollout are no canary of unmanaged: Remove', async () => {
  await create(8);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { settleSeconds: 0 } });
  await testEnv.reconcile();
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  await testEnv.reconcile();
  const records = await Promise.all(names(8).map(async name => (await testEnv.node(name)).metadata.annotations));
  const stamps = records.map(annotations => parseRecord(annotations?.[RECORD_ANNOTATION])?.rollout);
  assert.deepEqual([new Set(stamps).size, stamps.includes(undefined)], [1, false], 'one hash for all');
  for (const name of names(5)) await testEnv.patchNode(name, { metadata: { labels: { gpu: 'driver' } } });
  await testEnv.edit('web', { spec: { unmanaged: 'Remove', rollout: { canary: 1, settleSeconds: 600 } } });
  const { stdout } = await unchanged(['diff']);
  assert.match(stdout, /^pool web: 1 node now \(canary of 1\), 8 settling; then 4 nodes /m);
  await testEnv.reconcile();
  await testEnv.reconcile();
  const left = (await labelsOf(5)).map(({ gpu }) => gpu);
  assert.deepEqual(left, [undefined, 'driver', 'driver', 'driver', 'driver']);
});

test('a failed canary that is deleted, as by auto-repair, is not replaced by another', async t => {
  await create(6);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 1, settleSeconds: 600 } });
  await testEnv.reconcile();
  const tiers = async (...of: string[]) =>
    Promise.all(of.map(async name => (await testEnv.node(name)).metadata.labels.tier));
  let watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  await eventually('the canary is changed', async () => (await tiers('n0'))[0] === '2');
  await setReady(testEnv.cluster(), 'n0', false);
  await eventually('it is stopped', says(/^RolloutStopped: 1 of 6 nodes updated; stopped: node n0 /));
  await deleteNodes(testEnv.cluster(), ['n0']);
  const isGone = says(
    /^RolloutStopped: 0 of 5 nodes updated; stopped: node n0 turned NotReady after the change and is gone; /,
  );
  await eventually('it stays stopped', isGone);
  // A node that was repaired joins with the spec.
  await testEnv.nodes({ name: 'n0', labels: role('web') });
  await watching.end('SIGKILL');
  watching = await startWatching(t, testEnv.cluster());
  await eventually('it has joined', async () => (await tiers('n0'))[0] === '2');
  await sleep(1_500);
  assert.deepEqual(await tiers('n1', 'n2', 'n3', 'n4', 'n5'), ['1', '1', '1', '1', '1']);
  assert.match(
    (await cli(testEnv.cluster(), ['diff'])).stdout,
    /^pool web: stopped: node n0 turned NotReady after the change; 5 nodes left$/m,
  );
  assert.equal((await cli(testEnv.cluster(), ['rollout', 'resume', 'web'])).code, 0);
  await eventually('the next canary', async () => (await tiers('n1'))[0] === '2');
  assert.deepEqual(await tiers('n2', 'n3', 'n4', 'n5'), ['1', '1', '1', '1']);
  await watching.end();
});
