/** `reconcile --watch`: what changes is answered, what does not concern a pool is not, and it ends as it should. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { raw } from '../cluster/raw.ts';
import { eventually, startWatching } from './watching.ts';
import { role, taintsOf, useWorld } from './world.ts';

const world = useWorld({ audit: true });
const TAINT = { key: 'dedicated', value: 'w', effect: 'NoSchedule' } as const;
const label = async (node: string, key: string) => (await world.node(node)).metadata.labels[key];

/** Writes of the product so far, leases aside. */
async function ourWrites(): Promise<string[]> {
  const events = await readAudit(world.cluster());
  return events
    .filter(event => isWrite(event) && event.userAgent?.startsWith('kubectl-nodepool/'))
    .filter(event => event.resource !== 'leases')
    .map(event => `${event.verb} ${event.resource} ${event.name}`);
}

test('what happens to nodes, pools and RuntimeClasses is answered', async t => {
  await world.nodes({ name: 'a', labels: role('one') }, { name: 'b' });
  await world.pool('one', { labels: { tier: 'one' }, taints: [TAINT], handler: 'runc' });
  const watching = await startWatching(t, world.cluster());
  await eventually('a pool that is there already is reconciled', async () => (await label('a', 'tier')) === 'one');

  await world.patchNode('a', { spec: { taints: [{ key: 'theirs', effect: 'NoSchedule' }] } });
  await eventually('drift is repaired, and theirs stays', async () => taintsOf(await world.node('a')).length === 2);

  await world.nodes({ name: 'new', labels: role('one') });
  await eventually('a new node joins', async () => (await label('new', 'tier')) === 'one');

  await world.pool('two', { labels: { tier: 'two' } });
  await world.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/one': null, ...role('two') } } });
  await eventually('a node moves', async () => (await label('a', 'tier')) === 'two');
  const counts = async () => [
    (await world.getPool('one'))?.status?.nodeCount,
    (await world.getPool('two'))?.status?.nodeCount,
  ];
  await eventually('both pools know', async () => String(await counts()) === '1,1');

  await world.edit('two', { spec: { labels: { tier: 'silver' } } });
  await eventually('a changed pool reaches its nodes', async () => (await label('a', 'tier')) === 'silver');

  await raw(world.cluster()).expect('DELETE', '/apis/node.k8s.io/v1/runtimeclasses/node-pool-one');
  await eventually('a deleted RuntimeClass comes back', async () => world.runtimeClass('one'));

  await raw(world.cluster()).expect('DELETE', '/api/v1/nodes/new');
  await eventually('a deleted node is told by its name', async () =>
    (await world.events('one')).some(event => event.note === '1 node left: new (deleted from the cluster)'),
  );

  await raw(world.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/two');
  await eventually('a deleted pool is released', async () => (await world.getPool('two')) === undefined);
  assert.equal(await label('a', 'tier'), undefined);
  assert.deepEqual(taintsOf(await world.node('a')), ['theirs:NoSchedule']);

  assert.equal(await watching.end(), 0, 'Ctrl-C ends it well');
  assert.match(watching.log(), /one: wrote node a; status 200/);
});

test('heartbeats and images cause no write', async t => {
  await world.nodes({ name: 'a', labels: role('one') });
  await world.pool('one', { labels: { tier: 'one' } });
  const watching = await startWatching(t, world.cluster());
  await eventually('it is reconciled', async () => (await world.getPool('one'))?.status?.status === 200);
  await eventually('its event is told', async () => (await world.events('one')).length > 0);
  const before = await ourWrites();
  const type = 'application/strategic-merge-patch+json';
  for (let beat = 0; beat < 50; beat++) {
    const lastHeartbeatTime = new Date(Date.now() + beat * 1000).toISOString();
    const status = { conditions: [{ type: 'Ready', lastHeartbeatTime }] };
    await raw(world.cluster()).expect('PATCH', '/api/v1/nodes/a/status', { status }, type);
  }
  // What comes after the heartbeats shows that they were seen.
  await world.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  await eventually('drift after them is repaired', async () => (await label('a', 'tier')) === 'one');
  await watching.end();
  const since = (await ourWrites()).slice(before.length).filter(write => !write.includes(' events '));
  assert.deepEqual(since, ['patch nodes a']);
});

test('of two processes one reconciles; when it is killed the other takes over', { timeout: 90_000 }, async t => {
  await world.nodes({ name: 'a', labels: role('one') });
  await world.pool('one', { labels: { tier: 'one' } });
  const first = await startWatching(t, world.cluster(), '--leader-elect');
  await eventually('the first reconciles', async () => (await label('a', 'tier')) === 'one');
  const second = await startWatching(t, world.cluster(), '--leader-elect');
  await first.end('SIGKILL');
  await world.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  await eventually('the second takes over', async () => (await label('a', 'tier')) === 'one', 20_000);
  assert.equal(await second.end('SIGTERM'), 0);
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubectl-nodepool';
  const { spec } = (await raw(world.cluster()).expect('GET', lease)) as { spec: { holderIdentity?: string } };
  assert.equal(spec.holderIdentity ?? '', '', 'a graceful end hands the lease over');
});

test('probes and metrics answer', async t => {
  await world.pool('one');
  const watching = await startWatching(
    t,
    world.cluster(),
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
