/** `noExecute: Drain` that is not completed: a budget, an interruption, and a pool that is edited, paused or deleted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { start } from './following.ts';
import { DONE, HELD, nodesToDrain, SPEC, STAND_IN, WEB } from './no-execute.ts';
import { condition, role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const pods = poolsWithPods(testEnv);
const { nodes, pod, reconcile, taints } = nodesToDrain(testEnv, pods);

test('reports a budget that never allows evictions, and continues with other nodes and pools', async () => {
  await nodes('a', 'b');
  await testEnv.nodes({ name: 'c', labels: role('other') });
  await testEnv.pool('web', SPEC);
  await testEnv.pool('other', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pod('q', 'a');
  await pods.budget('web', WEB, 0);
  const { code, stdout, stderr } = await cli(cluster(), ['reconcile', '--yes', '--timeout=4s']);
  assert.equal(code, 1);
  assert.deepEqual(await taints('a', 'b', 'c'), [STAND_IN, DONE, DONE]);
  assert.deepEqual(await pods.names(), ['p']);
  assert.ok(stderr.includes(`pod default/p on node a ${HELD}\n`), stderr);
  assert.match(
    stderr,
    /^error: web: gave up after 4 s without an eviction: pods of 1 node are evicted .*: a; pod default\/p on node a waits for /m,
  );
  assert.match(stdout, /^web +Progressing .*$/m);
  const pool = await testEnv.getPool('web');
  assert.deepEqual([pool?.status?.status, pool?.status?.updatedNodeCount], [200, 1]);
  const [applied, reconciling] = [condition(pool, 'Applied'), condition(pool, 'Reconciling')];
  assert.deepEqual(
    [applied.status, applied.reason, reconciling.status, reconciling.reason],
    ['False', 'Draining', 'True', 'Draining'],
  );
  assert.ok(applied.message.includes(`pod default/p on node a ${HELD}`), applied.message);
  assert.match(await ok(['describe', 'web']), /^ +No Execute: +Drain\n[\s\S]*a .* evicting pods/m);
  assert.match(await ok(['nodes', '--why', 'a']), /^ {2}taint dedicated=x:NoExecute: set after its pods are evicted$/m);
  assert.match((await unchanged(['diff'])).stdout, /^node a \(pool web\)\n {2}\+ taint dedicated=x:NoExecute/m);
  const events = (await testEnv.events('web')).map(({ type, reason }) => `${type} ${reason}`);
  assert.ok(events.includes('Normal Draining') && !events.some(event => event.startsWith('Warning')), String(events));

  await pods.budget('web', WEB, 1);
  assert.equal((await reconcile()).code, 0);
  assert.deepEqual(await taints('a'), [DONE]);
  assert.equal(condition(await testEnv.getPool('web'), 'Applied').status, 'True');
});

test('the next run continues after Ctrl-C', async t => {
  await nodes('a', 'b');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pods.budget('web', WEB, 0);
  const run = start(t, cluster(), [...productCommand(), 'reconcile', 'web', '--yes']);
  await eventually('the budget is named', () => run.stderr().includes(HELD));
  await eventually('the other node is done', async () => (await taints('b')).join() === DONE);
  assert.equal(await run.end(), 130);
  assert.match(run.stderr(), /interrupted: 1 node written, 1 node left; run the command again to finish/);
  assert.deepEqual(await taints('a'), [STAND_IN]);
  await pods.budget('web', WEB, 1);
  assert.equal((await reconcile()).code, 0);
  assert.deepEqual(await taints('a'), [DONE]);
});

test('an edited or paused pool evicts no further pods', async t => {
  await nodes('a');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pods.budget('web', WEB, 0);
  for (const [edit, code, says] of [
    [{ taints: null }, 1, /the spec of pool web changed during the reconcile/],
    [{ paused: true }, 0, /the pool is paused and 1 of 1 node waits for its changes/],
  ] as const) {
    const run = start(t, cluster(), [...productCommand(), 'reconcile', 'web', '--yes']);
    await eventually('the budget is named', () => run.stderr().includes(HELD));
    await testEnv.edit('web', { spec: edit });
    await pods.budget('web', WEB, 1);
    const ended = await Promise.race([run.end('SIGCONT'), sleep(20_000, 'late')]);
    assert.equal(ended, code, run.stderr());
    assert.match(run.stderr() + run.stdout(), says);
    assert.deepEqual(await pods.names(), ['p']);
    await pods.budget('web', WEB, 0);
    await testEnv.edit('web', { spec: { paused: null, taints: null } });
    assert.equal((await reconcile()).code, 0);
    assert.deepEqual(await taints('a'), [''], 'the stand-in is taken back');
    await testEnv.edit('web', { spec: SPEC });
  }
});

test('deletion, relabelling and undo remove the stand-in taint, but not a foreign NoSchedule taint', async () => {
  await nodes('a', 'b');
  const theirs = { key: 'dedicated', value: 'theirs', effect: 'NoSchedule' };
  await testEnv.patchNode('b', { spec: { taints: [theirs] } });
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pod('q', 'b', { labels: WEB });
  await pods.budget('web', WEB, 0);
  const begin = async () => assert.equal((await reconcile('--timeout=1s')).code, 1);
  await begin();
  assert.deepEqual(await taints('a', 'b'), [STAND_IN, 'dedicated=theirs:NoSchedule']);
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/web': null } } });
  await reconcile('--timeout=1s');
  assert.deepEqual(await taints('a', 'b'), ['', 'dedicated=theirs:NoSchedule']);
  assert.equal((await testEnv.node('a')).metadata.annotations?.[RECORD_ANNOTATION], undefined);
  await testEnv.patchNode('a', { metadata: { labels: role('web') } });
  await begin();
  assert.deepEqual(await taints('a'), [STAND_IN]);
  await ok(['delete', 'web', '--yes']);
  assert.deepEqual(await taints('a', 'b'), ['', 'dedicated=theirs:NoSchedule']);
  assert.deepEqual(await pods.names(), ['p', 'q']);
});
