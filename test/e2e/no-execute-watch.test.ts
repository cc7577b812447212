/** `noExecute: Drain` in `reconcile --watch`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAudit } from '../cluster/audit.ts';
import { poolsWithPods } from './draining.ts';
import { DONE, HELD, nodesToDrain, TAINT, WEB } from './no-execute.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const pods = poolsWithPods(testEnv);
const { audited, evictions, nodes, pod, taints } = nodesToDrain(testEnv, pods);

test('the watch lists pods only of waiting nodes, and reports what blocks', {
  timeout: 120_000,
}, async t => {
  await nodes('a', 'b');
  await testEnv.nodes({ name: 'c', labels: role('plain') });
  await testEnv.pool('plain', { taints: [TAINT] });
  await testEnv.pool('web', { noExecute: 'Drain', labels: { tier: 'x' } });
  const start = await audited();
  const watching = await startWatching(t, cluster());
  await eventually('both are applied', async () => {
    const all = await Promise.all(['plain', 'web'].map(testEnv.getPool));
    return all.every(pool => pool?.status?.status === 200);
  });
  const podLists = async () =>
    (await readAudit(cluster()))
      .slice(start)
      .filter(
        ({ resource, verb, userAgent }) => resource === 'pods' && verb === 'list' && userAgent.includes('nodepool'),
      );
  assert.deepEqual(await podLists(), [], 'nothing waits');
  await pod('p', 'a', { labels: WEB });
  await pods.budget('web', WEB, 0);
  await testEnv.edit('web', { spec: { taints: [TAINT] } });
  await eventually('the empty node has the taint', async () => (await taints('b')).join() === DONE);
  await eventually('what blocks is reported', async () => {
    const pool = await testEnv.getPool('web');
    return pool?.status?.conditions?.some(({ type, message }) => type === 'Reconciling' && message.includes(HELD));
  });
  await eventually(
    'an Event tells it',
    async () =>
      (await testEnv.events('web')).some(({ reason, note }) => reason === 'EvictionBlocked' && note.includes(HELD)),
    60_000,
  );
  const lists = await podLists();
  assert.ok(
    lists.every(({ uri }) => /fieldSelector=spec\.nodeName%3D[ab]/.test(uri)),
    String(lists.map(({ uri }) => uri)),
  );
  assert.match(
    watching.log(),
    /web: evicting pods from nodes before they get taint dedicated=x:NoExecute, first on [ab]/,
  );
  assert.doesNotMatch(watching.log(), /web: .*taints ignore PodDisruptionBudgets/);
  await testEnv.edit('web', { spec: { taints: null } });
  await eventually('the stand-in is taken back', async () => (await taints('a')).join() === '');
  await testEnv.edit('web', { spec: { taints: [TAINT], paused: true } });
  const since = await audited();
  await pods.budget('web', WEB, 1);
  await sleep(3_000);
  assert.deepEqual([await evictions(since), await taints('a')], [[], ['']]);
  await testEnv.edit('web', { spec: { paused: null } });
  await eventually('it has the taint', async () => (await taints('a')).join() === DONE);
  assert.equal(await watching.end(), 0);
});
