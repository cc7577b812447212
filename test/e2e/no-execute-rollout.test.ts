/** `noExecute: Drain` in a pool with spec.rollout: one node after the other, and none settles before it has its taint. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rolloutHash } from '../../src/nodepool/rollout/rollout.ts';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { setReady } from '../cluster/nodes.ts';
import { recordOf } from './birth.ts';
import { poolsWithPods } from './draining.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const pods = poolsWithPods(testEnv);
const WEB = { app: 'web' };
const NODES = ['a', 'b', 'c'];
const TAINT = { key: 'dedicated', value: 'x', effect: 'NoExecute' as const };
const [STAND_IN, DONE] = ['dedicated=x:NoSchedule', 'dedicated=x:NoExecute'];
const SETTLE_SECONDS = 1;
const SPEC: NodePoolSpec = {
  noExecute: 'Drain',
  rollout: { canary: 1, maxConcurrent: 1, settleSeconds: SETTLE_SECONDS },
};

const taints = async () => Promise.all(NODES.map(async name => taintsOf(await testEnv.node(name)).join()));
const are = async (...wanted: string[]) => (await taints()).join(' ') === wanted.join(' ');
const reasonIs = async (type: 'Applied' | 'Progressing', reason: string) =>
  (await testEnv.getPool('web'))?.status?.conditions?.some(each => each.type === type && each.reason === reason);

test('sets a new NoExecute taint on one node after the other, within a budget', { timeout: 180_000 }, async t => {
  await testEnv.nodes(...NODES.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', SPEC);
  await testEnv.reconcile();
  for (const node of NODES) await pods.pod({ name: `p-${node}`, node, labels: WEB, graceSeconds: 0 });
  await pods.budget('web', WEB, 0);
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { taints: [TAINT] } });

  await eventually('the canary is closed', () => are(STAND_IN, '', ''));
  await sleep((SETTLE_SECONDS + 3) * 1000);
  assert.deepEqual(
    [await taints(), await pods.names()],
    [
      [STAND_IN, '', ''],
      ['p-a', 'p-b', 'p-c'],
    ],
    'it does not settle',
  );
  const { changed, drainingSince, ...begun } = recordOf(await testEnv.node('a')) as Record<string, unknown>;
  const pool = await testEnv.getPool('web');
  assert.ok(pool !== undefined && typeof changed === 'string' && typeof drainingSince === 'string');
  assert.deepEqual(begun, {
    pool: 'web',
    generation: pool.metadata.generation,
    taints: { 'dedicated:NoSchedule': 'x' },
    rollout: rolloutHash(pool),
    draining: { 'dedicated:NoExecute': 'x' },
  });
  const [applied, progressing] = [condition(pool, 'Applied'), condition(pool, 'Progressing')];
  assert.match(
    applied.message,
    /^3 of 3 nodes differ .*: pods of 1 node are evicted .*: a; pod default\/p-a on node a /,
  );
  assert.equal(
    progressing.message,
    '0 of 3 nodes updated, 1 settling (a), waiting for the canary (1) to settle',
    applied.reason,
  );

  // The server takes an eviction from the budget, so each allows one node.
  await pods.budget('web', WEB, 1);
  await eventually('the canary is done, and the next is closed', () => are(DONE, STAND_IN, ''));
  await sleep((SETTLE_SECONDS + 3) * 1000);
  assert.deepEqual(
    [await taints(), await pods.names()],
    [
      [DONE, STAND_IN, ''],
      ['p-b', 'p-c'],
    ],
  );
  const done = recordOf(await testEnv.node('a')) as Record<string, unknown>;
  assert.deepEqual(Object.keys(done), ['pool', 'generation', 'taints', 'changed', 'rollout']);
  assert.ok(Date.parse(String(done.changed)) > Date.parse(changed), 'it settles from its taint on');

  // A node that breaks while it is drained stops the rollout, and its own drain.
  await setReady(testEnv.cluster(), 'b', false);
  await eventually('it is stopped', () => reasonIs('Progressing', 'RolloutStopped'));
  await pods.budget('web', WEB, 1);
  await testEnv.patchNode('a', { metadata: { labels: { wakes: 'it' } } });
  await sleep(6_000);
  assert.deepEqual(
    [await taints(), await pods.names()],
    [
      [DONE, STAND_IN, ''],
      ['p-b', 'p-c'],
    ],
  );
  await setReady(testEnv.cluster(), 'b', true);
  await eventually('it goes on', () => are(DONE, DONE, STAND_IN));
  assert.deepEqual(await pods.names(), ['p-c']);
  await watching.end();

  // Another process goes on, and a stand-in that somebody removed comes back first.
  await testEnv.patchNode('c', { spec: { taints: null } });
  await pods.budget('web', WEB, 1);
  const next = await startWatching(t, testEnv.cluster());
  await eventually('all are done', () => are(DONE, DONE, DONE));
  await eventually('it is complete', () => reasonIs('Progressing', 'RolloutComplete'));
  assert.deepEqual([await pods.names(), condition(await testEnv.getPool('web'), 'Applied').status], [[], 'True']);
  assert.equal(await next.end(), 0);
});

test('a node that was NotReady before its drain does not block others, a new NotReady node does', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes(...NODES.map(name => ({ name, labels: role('web') })));
  for (const node of NODES) await setReady(testEnv.cluster(), node, false);
  await testEnv.pool('web', { ...SPEC, rollout: { ...SPEC.rollout, canary: 0 } });
  await testEnv.reconcile();
  await pods.pod({ name: 'p', node: 'a', labels: WEB, graceSeconds: 0 });
  await pods.pod({ name: 'q', node: 'c', labels: WEB, graceSeconds: 0 });
  await pods.budget('web', WEB, 0);
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { taints: [TAINT] } });
  await eventually('the first is drained', () => are(STAND_IN, '', ''));
  await sleep((SETTLE_SECONDS + 2) * 1000);
  assert.ok(!(await reasonIs('Progressing', 'RolloutStopped')));
  await setReady(testEnv.cluster(), 'b', true);
  await eventually('another gets its place, and its taint', () => are(STAND_IN, DONE, ''));
  await setReady(testEnv.cluster(), 'c', true);
  await eventually('and another', () => are(STAND_IN, DONE, STAND_IN));
  await setReady(testEnv.cluster(), 'c', false);
  await eventually('it is stopped', () => reasonIs('Progressing', 'RolloutStopped'));
  const { message } = condition(await testEnv.getPool('web'), 'Progressing');
  assert.match(message, /\bc\b/);
  assert.doesNotMatch(message, /\ba\b/);
  assert.equal(await watching.end(), 0);
});

test('repairing drift of a waiting member evicts no pods without a budget', { timeout: 120_000 }, async t => {
  await testEnv.nodes(...NODES.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { ...SPEC, taints: [TAINT], labels: { tier: '1' } });
  await testEnv.reconcile();
  await eventually('all have the taint', async () => {
    await testEnv.reconcile();
    return are(DONE, DONE, DONE);
  });
  await testEnv.edit('web', { spec: { labels: { tier: '2' }, rollout: { settleSeconds: 600 } } });
  const watching = await startWatching(t, testEnv.cluster());
  const tier = async (name: string) => (await testEnv.node(name)).metadata.labels.tier;
  await eventually('the canary is changed', async () => (await tier('a')) === '2');
  // Whoever removes it may have put pods there since.
  await testEnv.patchNode('b', { spec: { taints: null }, metadata: { labels: { tier: 'mine' } } });
  await eventually('other drift is repaired', async () => (await tier('b')) === '1');
  await sleep(1_000);
  assert.ok(await are(DONE, '', DONE), 'the taint waits for the turn of the node');
  await testEnv.patchNode('a', { spec: { taints: null } });
  await eventually('a node that does not wait is drained, and gets it again', () => are(DONE, '', DONE));
  await testEnv.edit('web', { spec: { rollout: { canary: 0, maxConcurrent: 3 } } });
  await eventually('all have both', async () => (await are(DONE, DONE, DONE)) && (await tier('c')) === '2');
  await watching.end();
});
