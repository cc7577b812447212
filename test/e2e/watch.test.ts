/** `reconcile --watch`: reacts to changes that concern pools, ignores others, and shuts down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { setReady } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const TAINT = { key: 'dedicated', value: 'w', effect: 'NoSchedule' } as const;
const label = async (node: string, key: string) => (await testEnv.node(node)).metadata.labels[key];

/** Writes of the product so far, leases aside. */
async function ourWrites(): Promise<string[]> {
  const events = await readAudit(testEnv.cluster());
  return events
    .filter(event => isWrite(event) && event.userAgent?.startsWith('kubectl-nodepool/'))
    .filter(event => event.resource !== 'leases')
    .map(event => `${event.verb} ${event.resource} ${event.name}`);
}

test('reacts to changes of nodes, pools and RuntimeClasses', async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b' });
  await testEnv.pool('one', { labels: { tier: 'one' }, taints: [TAINT], handler: 'runc' });
  const watching = await startWatching(t, testEnv.cluster());
  await eventually('a pool that is there already is reconciled', async () => (await label('a', 'tier')) === 'one');

  await testEnv.patchNode('a', { spec: { taints: [{ key: 'theirs', effect: 'NoSchedule' }] } });
  await eventually('drift is repaired, and theirs stays', async () => taintsOf(await testEnv.node('a')).length === 2);

  await testEnv.nodes({ name: 'new', labels: role('one') });
  await eventually('a new node joins', async () => (await label('new', 'tier')) === 'one');

  await testEnv.pool('two', { labels: { tier: 'two' } });
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/one': null, ...role('two') } } });
  await eventually('a node moves', async () => (await label('a', 'tier')) === 'two');
  const counts = async () => [
    (await testEnv.getPool('one'))?.status?.nodeCount,
    (await testEnv.getPool('two'))?.status?.nodeCount,
  ];
  await eventually('both pools know', async () => String(await counts()) === '1,1');

  await testEnv.edit('two', { spec: { labels: { tier: 'silver' } } });
  await eventually('a changed pool reaches its nodes', async () => (await label('a', 'tier')) === 'silver');

  await raw(testEnv.cluster()).expect('DELETE', '/apis/node.k8s.io/v1/runtimeclasses/node-pool-one');
  await eventually('a deleted RuntimeClass comes back', async () => testEnv.runtimeClass('one'));

  await raw(testEnv.cluster()).expect('DELETE', '/api/v1/nodes/new');
  await eventually('a deleted node is reported by name', async () =>
    (await testEnv.events('one')).some(event => event.note === '1 node left: new (deleted from the cluster)'),
  );

  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/two');
  await eventually('a deleted pool is released', async () => (await testEnv.getPool('two')) === undefined);
  assert.equal(await label('a', 'tier'), undefined);
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['theirs:NoSchedule']);

  assert.equal(await watching.end(), 0, 'Ctrl-C ends it well');
  assert.match(watching.log(), /event Normal Node\w+ of NodePool one: /);
});

test('logs each status change on one line', async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one');
  const watching = await startWatching(t, testEnv.cluster(), '--log-format', 'json', '-v', '4');
  await eventually('it is reconciled', async () => (await testEnv.getPool('one'))?.status?.status === 200);
  await setReady(testEnv.cluster(), 'a', false);
  await eventually('its node is not ready', async () => (await testEnv.getPool('one'))?.status?.status === 503);
  await eventually('that is reported', () => watching.log().includes('"readyNodeCount":0'));
  const entries = watching
    .log()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  const reported = entries.filter(({ message }) => message.startsWith('status of pool one: '));
  assert.deepEqual(
    reported.map(({ level, pool, status, nodeCount, readyNodeCount }) => [
      level,
      pool,
      status,
      nodeCount,
      readyNodeCount,
    ]),
    [
      ['info', 'one', 200, 1, 1],
      ['info', 'one', 503, 1, 0],
    ],
  );
  assert.equal(reported[1]?.message, 'status of pool one: 503 NotReady, 0 of 1 node ready');
  assert.ok(
    entries.some(({ level, key }) => level === 'debug' && key === 'one'),
    '-v 4 tells of each reconcile',
  );
  assert.equal(await watching.end(), 0);
});

test('writes nothing for heartbeats and image lists', async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'one' } });
  const watching = await startWatching(t, testEnv.cluster());
  await eventually('it is reconciled', async () => (await testEnv.getPool('one'))?.status?.status === 200);
  await eventually('its event is recorded', async () => (await testEnv.events('one')).length > 0);
  const before = await ourWrites();
  const type = 'application/strategic-merge-patch+json';
  for (let beat = 0; beat < 50; beat++) {
    const lastHeartbeatTime = new Date(Date.now() + beat * 1000).toISOString();
    const status = { conditions: [{ type: 'Ready', lastHeartbeatTime }] };
    await raw(testEnv.cluster()).expect('PATCH', '/api/v1/nodes/a/status', { status }, type);
  }
  // The later change shows that the heartbeats were seen.
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  await eventually('drift after them is repaired', async () => (await label('a', 'tier')) === 'one');
  await watching.end();
  const since = (await ourWrites()).slice(before.length).filter(write => !write.includes(' events '));
  assert.deepEqual(since, ['patch nodes a']);
});

test('one of two processes reconciles, and the other takes over when it is killed', { timeout: 90_000 }, async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'one' } });
  const first = await startWatching(t, testEnv.cluster(), '--leader-elect');
  await eventually('the first reconciles', async () => (await label('a', 'tier')) === 'one');
  const second = await startWatching(t, testEnv.cluster(), '--leader-elect');
  const waits = / info +waiting for lease kube-system\/kubectl-nodepool, held by \S+\n/;
  await eventually('the second says what it waits for', () => waits.test(second.log()));
  await first.end('SIGKILL');
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  await eventually('the second takes over', async () => (await label('a', 'tier')) === 'one', 20_000);
  assert.equal(await second.end('SIGTERM'), 0);
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubectl-nodepool';
  const { spec } = (await raw(testEnv.cluster()).expect('GET', lease)) as { spec: { holderIdentity?: string } };
  assert.equal(spec.holderIdentity ?? '', '', 'a graceful end hands the lease over');
});

test('serves probes and metrics', async t => {
  await testEnv.pool('one');
  const watching = await startWatching(
    t,
    testEnv.cluster(),
    ...['--metrics-bind-address', '127.0.0.1:0', '--health-probe-bind-address', '127.0.0.1:0', '--log-format', 'json'],
  );
  const lines = () =>
    watching
      .log()
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { message: string });
  const address = (what: string) =>
    lines().flatMap(({ message }) => new RegExp(`^${what} on (http://\\S+)$`).exec(message)?.[1] ?? [])[0] ?? '';
  const text = async (what: string, path: string) => (await fetch(address(what) + path)).text();
  assert.equal(await text('probes', '/healthz'), 'ok');
  assert.equal(await text('probes', '/readyz'), 'ok');
  await eventually('a reconcile is counted', async () =>
    /controller_runtime_reconcile_total\{controller="nodepool-controller",result="success"\} [1-9]/.test(
      await text('metrics', '/metrics'),
    ),
  );
  assert.equal((await fetch(`${address('metrics')}/other`)).status, 404);
  assert.equal(await watching.end(), 0);
});

test('handles a burst of changes in a few reconciles', async t => {
  const [nodes, rounds] = [20, 10];
  const names = Array.from({ length: nodes }, (_, index) => `burst-${index}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('one') })));
  await testEnv.pool('one');
  const watching = await startWatching(t, testEnv.cluster(), '--metrics-bind-address', '127.0.0.1:0');
  const cpu = async () => (await testEnv.getPool('one'))?.status?.allocatable?.cpu;
  await eventually('it is reconciled', async () => (await cpu()) === String(nodes * 4));
  const address = /metrics on (http:\S+)/.exec(watching.log())?.[1];
  const reconciles = async () => {
    const text = await (await fetch(`${address}/metrics`)).text();
    const counts = text.matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const statusWrites = async () => (await ourWrites()).filter(write => write === 'patch nodepools/status one').length;
  const before = [await reconciles(), await statusWrites()];

  // All changes are done before it sees the first one.
  watching.child.kill('SIGSTOP');
  for (let round = 1; round <= rounds; round++) {
    const status = { allocatable: { cpu: String(4 + round) } };
    await Promise.all(
      names.map(name => raw(testEnv.cluster()).expect('PATCH', `/api/v1/nodes/${name}/status`, { status })),
    );
  }
  watching.child.kill('SIGCONT');
  await eventually('the last of them is answered', async () => (await cpu()) === String(nodes * (4 + rounds)));
  const after = [await reconciles(), await statusWrites()];
  const [reconciled = 0, written = 0] = after.map((count, index) => count - (before[index] ?? 0));
  // One for what is queued when a worker is free, one more for what arrives meanwhile: 200 changes arrive in some reads.
  assert.ok(reconciled <= (nodes * rounds) / 10, `${reconciled} reconciles`);
  assert.ok(written <= reconciled, `${written} writes of the status`);
});

test('the first Ctrl-C waits for writes in progress, the second exits at once', { timeout: 90_000 }, async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'one' } });
  const watching = await startWatching(t, testEnv.cluster(), '-v', '8');
  await eventually('it is reconciled', async () => (await testEnv.getPool('one'))?.status?.status === 200);
  const [, apiserver = 0] = testEnv.cluster().pids;
  const patches = () => watching.log().match(/request body: .*"tier":"one"/g)?.length ?? 0;
  const before = patches();

  // It reads the change when it continues, and its write gets no response.
  watching.child.kill('SIGSTOP');
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  await sleep(2_000);
  process.kill(apiserver, 'SIGSTOP');
  t.after(() => process.kill(apiserver, 'SIGCONT'));
  watching.child.kill('SIGCONT');
  await eventually('its write is in flight', () => patches() > before);

  const exit = watching.end();
  await eventually('it is stopping', () => /shutting down: finishing in-flight reconciles/.test(watching.log()));
  await sleep(1_000);
  assert.equal(watching.child.exitCode, null, 'the first waits');
  const second = performance.now();
  watching.child.kill('SIGINT');
  await exit;
  assert.ok(performance.now() - second < 15_000, 'the second does not: a write may take 30 s');
});

test('logs requests from -v 6 on, and their bodies from -v 8 on', async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { tier: 'one' } });
  const seen = {
    watches: / debug {3}GET https:\S+watch=true\S* 200, streaming$/m,
    requests: / debug {3}PATCH https:\S+ 200 in \d+ ms$/m,
    headers: / debug {3}request headers: /m,
    bodies: / debug {3}request body: .*"tier":"one"/m,
    answers: / debug {3}answer body: /m,
  };
  const shownAt = async (verbosity: number) => {
    const watching = await startWatching(t, testEnv.cluster(), '-v', String(verbosity));
    await testEnv.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
    await eventually('drift is repaired', () => /event Normal Node\w+ of NodePool one: /.test(watching.log()));
    assert.equal(await watching.end(), 0);
    return Object.entries(seen).flatMap(([what, line]) => (line.test(watching.log()) ? [what] : []));
  };
  assert.deepEqual(await shownAt(5), []);
  assert.deepEqual(await shownAt(6), ['watches', 'requests']);
  assert.deepEqual(await shownAt(8), Object.keys(seen));
});
