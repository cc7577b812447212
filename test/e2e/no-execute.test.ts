/** `noExecute: Drain` without kubelets and controllers: one-shot commands, what is told, what is taken back, and kills. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseRecord } from '../../src/nodepool/record.ts';
import { type NodePoolSpec, RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { start } from './following.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const pods = poolsWithPods(testEnv);
const WEB = { app: 'web' };
const TAINT = { key: 'dedicated', value: 'x', effect: 'NoExecute' as const };
const SPEC: NodePoolSpec = { noExecute: 'Drain', taints: [TAINT] };
const TWIN = 'dedicated=x:NoSchedule';
const DONE = 'dedicated=x:NoExecute';
const HELD = 'waits for PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently';

const taints = async (...names: string[]) =>
  Promise.all(names.map(async name => taintsOf(await testEnv.node(name)).join()));
const nodes = (...names: string[]) => testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
/** Without a kubelet, only such pods are gone when they are evicted. */
const pod = (name: string, node: string, more: object = {}) => pods.pod({ name, node, graceSeconds: 0, ...more });
const evictions = async (since: number) =>
  (await readAudit(cluster()))
    .slice(since)
    .filter(({ resource, uri }) => resource === 'pods/eviction' && !uri.includes('dryRun'));
const audited = async () => (await readAudit(cluster())).length;
const reconcile = (...args: string[]) => cli(cluster(), ['reconcile', 'web', '--yes', ...args]);

test('one-shot: the twin, evictions, then the taint; progress on stderr, and one line to stdout', async () => {
  await nodes('a', 'b');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pod('q', 'b');
  await pod('tolerates', 'b', { tolerations: [{ ...TAINT, operator: 'Equal' }] });
  await pods.budget('web', WEB, 1);
  const { code, stdout, stderr } = await reconcile();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^web {2}200 {2}2 nodes \(2 joined(, 2 updated)?\)/);
  const lines = stderr.split('\n');
  for (const line of ['evicting pod default/p', 'pod default/p evicted', 'evicting pod default/q'])
    assert.ok(lines.includes(line), stderr);
  assert.match(stderr, /^2 pods are evicted from 2 nodes before taints with the effect NoExecute are set there:$/m);
  assert.match(
    stderr,
    /^The pool has noExecute: Drain: the Eviction API evicts them .*budgets? are respected|respected\.$/im,
  );
  assert.deepEqual(await taints('a', 'b'), [DONE, DONE]);
  assert.deepEqual(await pods.names(), ['tolerates']);
  const record = parseRecord((await testEnv.node('a')).metadata.annotations?.[RECORD_ANNOTATION]);
  assert.deepEqual([[...(record?.taints.keys() ?? [])], record?.draining], [['dedicated:NoExecute'], undefined]);
  assert.equal(await ok(['diff']), '');
});

test('a script needs --yes; diff and dry runs tell the steps and evict nothing', async () => {
  await nodes('a');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a');
  const refused = await unchanged(['reconcile', 'web']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /1 pod is evicted from 1 node before taints .*; nothing was changed; next: .*--yes/);
  const diff = await unchanged(['diff']);
  assert.equal(diff.code, 1);
  assert.match(
    diff.stdout,
    /^node a \(joins pool web\)\n {2}\+ taint dedicated=x:NoSchedule {2}\(spec\)\n {2}\+ taint dedicated=x:NoExecute {2}\(spec\), once the pods that it would evict are evicted within their budgets\n {2}- taint dedicated=x:NoSchedule {2}\(spec\), with it$/m,
  );
  const since = await audited();
  for (const how of ['client', 'server']) {
    const { code, stdout } = await unchanged(['reconcile', 'web', `--dry-run=${how}`]);
    assert.equal(code, 0);
    assert.match(stdout, /\+ taint dedicated=x:NoSchedule[\s\S]*^web {2}200 .*\(1 joined.*dry run/m, how);
  }
  assert.deepEqual([await evictions(since), await pods.names()], [[], ['p']]);
});

test('a budget that never allows it: told, other nodes and pools go on, and a rerun continues', async () => {
  await nodes('a', 'b');
  await testEnv.nodes({ name: 'c', labels: role('other') });
  await testEnv.pool('web', SPEC);
  await testEnv.pool('other', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pod('q', 'a');
  await pods.budget('web', WEB, 0);
  const { code, stdout, stderr } = await cli(cluster(), ['reconcile', '--yes', '--timeout=4s']);
  assert.equal(code, 1);
  assert.deepEqual(await taints('a', 'b', 'c'), [TWIN, DONE, DONE]);
  assert.deepEqual(await pods.names(), ['p']);
  assert.ok(stderr.includes(`pod default/p on node a ${HELD}\n`), stderr);
  assert.match(
    stderr,
    /^error: web: gave up after 4 s without an eviction: pods of 1 node are evicted .*: a; pod default\/p on node a waits for /m,
  );
  assert.match(stdout, /^web +200 .*$/m);
  const pool = await testEnv.getPool('web');
  assert.deepEqual([pool?.status?.status, pool?.status?.updatedNodeCount], [200, 1]);
  const [applied, reconciling] = [condition(pool, 'Applied'), condition(pool, 'Reconciling')];
  assert.deepEqual(
    [applied.status, applied.reason, reconciling.status, reconciling.reason],
    ['False', 'Draining', 'True', 'Draining'],
  );
  assert.ok(applied.message.includes(`pod default/p on node a ${HELD}`), applied.message);
  assert.match(await ok(['describe', 'web']), /^ +No Execute: +Drain\n[\s\S]*a .* evicting pods/m);
  assert.match(
    await ok(['nodes', '--why', 'a']),
    /^ {2}taint dedicated=x:NoExecute: set once the pods that it would evict are evicted within their budgets$/m,
  );
  assert.match((await unchanged(['diff'])).stdout, /^node a \(pool web\)\n {2}\+ taint dedicated=x:NoExecute/m);
  const events = (await testEnv.events('web')).map(({ type, reason }) => `${type} ${reason}`);
  assert.ok(events.includes('Normal Draining') && !events.some(event => event.startsWith('Warning')), String(events));

  await pods.budget('web', WEB, 1);
  assert.equal((await reconcile()).code, 0);
  assert.deepEqual(await taints('a'), [DONE]);
  assert.equal(condition(await testEnv.getPool('web'), 'Applied').status, 'True');
});

test('Ctrl-C leaves a state from which the next run goes on', async t => {
  await nodes('a', 'b');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pods.budget('web', WEB, 0);
  const run = start(t, cluster(), [...productCommand(), 'reconcile', 'web', '--yes']);
  await eventually('the budget is named', () => run.stderr().includes(HELD));
  await eventually('the other node is done', async () => (await taints('b')).join() === DONE);
  assert.equal(await run.end(), 130);
  assert.match(run.stderr(), /interrupted: 1 node written, 1 node left; run the command again to finish/);
  assert.deepEqual(await taints('a'), [TWIN]);
  await pods.budget('web', WEB, 1);
  assert.equal((await reconcile()).code, 0);
  assert.deepEqual(await taints('a'), [DONE]);
});

test('a pool that is edited or paused meanwhile evicts no more', async t => {
  await nodes('a');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pods.budget('web', WEB, 0);
  for (const [edit, code, says] of [
    [{ taints: null }, 1, /the spec of nodepool web was changed while it was reconciled/],
    [{ paused: true }, 0, /the pool is paused, and 1 of 1 node waits for its changes/],
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
    assert.deepEqual(await taints('a'), [''], 'the twin is taken back');
    await testEnv.edit('web', { spec: SPEC });
  }
});

test('deletion, relabelling and undo take the twin back; a NoSchedule taint of somebody else stays', async () => {
  await nodes('a', 'b');
  const theirs = { key: 'dedicated', value: 'theirs', effect: 'NoSchedule' };
  await testEnv.patchNode('b', { spec: { taints: [theirs] } });
  await testEnv.pool('web', SPEC);
  await pod('p', 'a', { labels: WEB });
  await pod('q', 'b', { labels: WEB });
  await pods.budget('web', WEB, 0);
  const begin = async () => assert.equal((await reconcile('--timeout=1s')).code, 1);
  await begin();
  assert.deepEqual(await taints('a', 'b'), [TWIN, 'dedicated=theirs:NoSchedule']);
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/web': null } } });
  await reconcile('--timeout=1s');
  assert.deepEqual(await taints('a', 'b'), ['', 'dedicated=theirs:NoSchedule']);
  assert.equal((await testEnv.node('a')).metadata.annotations?.[RECORD_ANNOTATION], undefined);
  await testEnv.patchNode('a', { metadata: { labels: role('web') } });
  await begin();
  assert.deepEqual(await taints('a'), [TWIN]);
  await ok(['delete', 'web', '--yes']);
  assert.deepEqual(await taints('a', 'b'), ['', 'dedicated=theirs:NoSchedule']);
  assert.deepEqual(await pods.names(), ['p', 'q']);
});

test('without the permission to evict, the node gets no NoExecute taint, and the error names the permission', async () => {
  await nodes('a');
  await testEnv.pool('web', SPEC);
  await pod('p', 'a');
  const rules = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools', 'nodepools/status'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['list', 'get'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  ] as const;
  const [first, ...others] = rules.map(rule => ({
    apiGroups: [...rule.apiGroups],
    resources: [...rule.resources],
    verbs: [...rule.verbs],
  }));
  assert.ok(first !== undefined);
  const kubeconfig = await userWith(cluster(), 'no-evictions', [first, ...others]);
  const { code, stderr } = await cli(cluster(), ['reconcile', 'web', '--yes', '--kubeconfig', kubeconfig]);
  assert.equal(code, 1);
  assert.match(stderr, /pods\/eviction/);
  assert.deepEqual(await taints('a'), [TWIN]);
  const pool = await testEnv.getPool('web');
  assert.deepEqual([pool?.status?.status, condition(pool, 'Applied').reason], [500, 'WriteFailed']);
  assert.equal((await reconcile()).code, 0);
});

test('edit --reconcile, add and another value', async () => {
  await nodes('a');
  await testEnv.nodes({ name: 'joins' });
  await testEnv.pool('web');
  await testEnv.reconcile();
  await pod('p', 'a');
  const flags = ['--taint', 'dedicated=x:NoExecute', '--noexecute', 'Drain', '--reconcile', '--yes'];
  const edited = await cli(cluster(), ['edit', 'web', ...flags]);
  assert.equal(edited.code, 0, edited.stderr);
  assert.match(edited.stderr, /^pod default\/p evicted$/m);
  assert.deepEqual(await taints('a'), [DONE]);

  await pod('q', 'joins');
  const added = await cli(cluster(), ['add', 'web', 'joins', '--yes']);
  assert.equal(added.code, 0, added.stderr);
  assert.match(added.stderr, /^pod default\/q evicted$/m);
  assert.equal(added.stdout, 'node/joins added to pool web\n');
  assert.deepEqual(await taints('joins'), [DONE]);

  await pod('old', 'a', { tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'x' }] });
  await ok(['edit', 'web', '--taint', 'dedicated=y:NoExecute', '--yes'], { stderr: /./ } as never).catch(() => {});
  assert.deepEqual(await pods.names(), ['old']);
  assert.equal((await reconcile()).code, 0);
  assert.deepEqual(
    [await taints('a', 'joins'), await pods.names()],
    [['dedicated=y:NoExecute', 'dedicated=y:NoExecute'], []],
  );
});

test('the watch: only nodes that wait have their pods listed, and what blocks is told', {
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
  await eventually('what blocks is told', async () => {
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
  assert.doesNotMatch(watching.log(), /web: .*PodDisruptionBudgets are not respected/);
  await testEnv.edit('web', { spec: { taints: null } });
  await eventually('the twin is taken back', async () => (await taints('a')).join() === '');
  await testEnv.edit('web', { spec: { taints: [TAINT], paused: true } });
  const since = await audited();
  await pods.budget('web', WEB, 1);
  await sleep(3_000);
  assert.deepEqual([await evictions(since), await taints('a')], [[], ['']]);
  await testEnv.edit('web', { spec: { paused: null } });
  await eventually('it has the taint', async () => (await taints('a')).join() === DONE);
  assert.equal(await watching.end(), 0);
});
