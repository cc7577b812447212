/** `get --watch`, `nodes --watch` and `events --watch`: existing objects, then changes, across restarts of the API server. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { type Following, start as startOn } from './following.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ own: true });
const { cluster } = testEnv;

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

const start = (t: TestContext, command: readonly [string, ...string[]]): Following => startOn(t, cluster(), command);
const follow = (t: TestContext, ...args: string[]) => start(t, [...productCommand(), ...args]);
const label = (name: string, labels: object) => testEnv.edit(name, { metadata: { labels } });
const remove = (name: string) => raw(cluster()).expect('DELETE', `${POOLS}/${name}`);
/** The first columns of a line: name, status, nodes. */
const words = (line: string) => line.split(/ +/, 3).join(' ');

test('get --watch prints the table, then a row for each change under the same columns', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.pool('worker-of-the-day');
  const watching = follow(t, 'get', '--watch');
  await watching.has(3);
  await label('gpu', { x: 'y' });
  await watching.has(4);
  await testEnv.reconcile('gpu');
  await eventually('it is Ready', () => /^gpu +Ready +1 /m.test(watching.stdout()));
  await testEnv.delete(['gpu']);
  await testEnv.pool('new');
  await eventually('its nodes are counted', () => /^new +Pending +0 /m.test(watching.stdout()));
  assert.equal(await watching.end(), 130);
  // The finalizer and what is due are changes, too, and a deleted pool has nodes until it is counted again.
  const rows = watching.lines().map(words);
  const distinct = rows.filter((row, at) => row !== rows[at - 1]).join(', ');
  assert.match(
    distinct,
    /^NAME STATUS NODES, gpu Pending 1, worker-of-the-day Pending 0, gpu Pending 1, gpu Ready 1, (gpu Deleting \d, )+new Pending <none>, new Pending 0$/,
  );
  const second = watching.lines().map(line => /^\S+ +/.exec(line)?.[0].length);
  assert.deepEqual([...new Set(second)], ['worker-of-the-day   '.length]);
  assert.equal(watching.stderr(), '');
});

test('nodes --watch prints the table, then each row that changes', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') }, { name: 'other' });
  await testEnv.pool('gpu');
  await testEnv.reconcile();
  const watching = follow(t, 'nodes', 'gpu', '-w', '-L', 'tier');
  await watching.has(3);
  // Nothing of these is shown.
  await testEnv.patchNode('other', { spec: { unschedulable: true } });
  await testEnv.patchNode('a', { metadata: { annotations: { x: 'y' } } });
  await testEnv.patchNode('b', { spec: { unschedulable: true } });
  await eventually('b is cordoned', () => /^b +Ready,SchedulingDisabled/m.test(watching.stdout()));
  // Drift of both.
  await testEnv.edit('gpu', { spec: { labels: { tier: 'gold' } } });
  await eventually('both drift', () => (watching.stdout().match(/\+tier=gold/g) ?? []).length === 2);
  await testEnv.reconcile();
  await eventually('both have it', () => (watching.stdout().match(/ gold$/gm) ?? []).length === 2);
  await testEnv.patchNode('b', { metadata: { labels: { 'node-role.kubernetes.io/gpu': null } } });
  await eventually('b leaves', () => /^b .*gpu,Leaving/m.test(watching.stdout()));
  await testEnv.reconcile();
  await eventually('b has left', () => /^b +\S+ +<none>/m.test(watching.stdout()));
  const before = watching.lines().length;
  await testEnv.patchNode('b', { metadata: { labels: { late: '' } } });
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/a');
  await watching.has(before + 1);
  assert.equal(await watching.end(), 130);
  assert.deepEqual(
    watching
      .lines()
      .slice(before)
      .map(line => line[0]),
    ['a'],
  );
  assert.equal(watching.stderr(), '');
});

test('events --watch -o json prints each Event', async t => {
  await testEnv.pool('gpu', { handler: 'runc' });
  const watching = follow(t, 'events', '--for', 'gpu', '-w', '-o', 'json');
  await eventually('it watches', () => watching.stderr().includes('watching for new events'));
  await testEnv.reconcile();
  await eventually('it prints the event', () => watching.stdout().endsWith('\n}\n'));
  const { apiVersion, kind, reason } = JSON.parse(watching.stdout()) as Record<string, string>;
  assert.deepEqual([apiVersion, kind, reason], ['events.k8s.io/v1', 'Event', 'RuntimeClassCreated']);
  assert.equal(await watching.end(), 130);
});

test('get --watch waits for the first pool', async t => {
  const watching = follow(t, 'get', '-w');
  await eventually('it says so', () => watching.stderr() === 'No pools found; watching for new pools.\n');
  await testEnv.pool('first');
  await watching.has(2);
  assert.deepEqual(
    watching.lines().map(line => line.split(' ', 1)[0]),
    ['NAME', 'first'],
  );
  assert.equal(await watching.end('SIGTERM'), 0);
});

test('get --watch survives a restart of the API server without repeated or missed rows', async t => {
  for (const name of ['a', 'b', 'c']) await testEnv.pool(name);
  const watching = follow(t, 'get', '-w', '-o', 'name', '-v', '4');
  await watching.has(3);
  await cluster().stopApiserver();
  await eventually('it warns', () => /warning: nodepools: cannot reach the server/.test(watching.stderr()));
  assert.match(watching.stderr(), /; next attempt in \d+\.\d s\n/);
  await cluster().startApiserver();
  await label('b', { x: 'y' });
  await remove('c');
  await eventually('it goes on', () => watching.lines().length >= 5, 60_000);
  await label('a', { x: 'z' });
  await watching.has(6);
  const names = watching.lines().map(line => line.replace('nodepool.nodes.lailin.xyz/', ''));
  assert.deepEqual([names.slice(0, 3), names.slice(3, 5).sort(), names.slice(5)], [['a', 'b', 'c'], ['b', 'c'], ['a']]);
  assert.equal(await watching.end(), 130);
});

test('get --watch ends quietly when its reader closes the pipe', async t => {
  await testEnv.pool('a');
  const quoted = productCommand()
    .map(word => `'${word}'`)
    .join(' ');
  const piped = start(t, ['sh', '-c', `{ ${quoted} get -w; echo "exit $?" >&2; } | head -1`]);
  await piped.has(1);
  await eventually('it ends at a change', async () => {
    await label('a', { x: String(Math.random()) });
    return piped.stderr() !== '';
  });
  assert.equal(piped.stderr(), 'exit 0\n');
});

test('events --watch shows existing events, new ones, and repeated ones with their count', async t => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  await testEnv.pool('other', { handler: 'runc' });
  await testEnv.reconcile('gpu');
  const watching = follow(t, 'events', '-w');
  const one = follow(t, 'events', 'other', '-w', '--no-headers');
  await watching.has(2);
  await eventually('it waits', () => one.stderr() === 'No events found for pool other; watching for new events.\n');
  await testEnv.reconcile('other');
  await Promise.all([watching.has(3), one.has(1)]);
  const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'gpu', namespace: 'default' };
  const event = {
    metadata: { name: 'series.1', namespace: 'default' },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    reportingController: 'test',
    reportingInstance: 'test-1',
    action: 'Test',
    reason: 'Tested',
    type: 'Warning',
    note: 'red \u001b[31mtext',
  };
  await raw(cluster()).expect('POST', EVENTS, { ...event, metadata: { name: 'theirs.1' }, regarding });
  const ours = { ...regarding, apiVersion: 'nodes.lailin.xyz/v1' };
  await raw(cluster()).expect('POST', EVENTS, { ...event, regarding: ours });
  await watching.has(4);
  const series = { count: 12, lastObservedTime: new Date().toISOString().replace('Z', '000Z') };
  await raw(cluster()).expect('PATCH', `${EVENTS}/series.1`, { series });
  await watching.has(5);
  await raw(cluster()).expect('DELETE', `${EVENTS}/series.1`);
  await testEnv.pool('last', { handler: 'runc' });
  await testEnv.reconcile('last');
  await watching.has(6);
  const rows = watching.lines().map(line =>
    line
      .replace(/\b\d+s\b/g, '9s')
      .split(/ {3,}/)
      .join(' | '),
  );
  assert.deepEqual(rows, [
    'TIME | TYPE | WHAT | WHO | POOL | DETAIL',
    '9s | Normal | NodeJoined | kubectl-nodepool | gpu | 1 node joined: a',
    '9s | Normal | RuntimeClassCreated | kubectl-nodepool | other | RuntimeClass node-pool-other created',
    '9s | Warning | Tested | test | gpu | red \\u001b[31mtext',
    '9s (x12 over 9s) | Warning | Tested | test | gpu | red \\u001b[31mtext',
    '9s | Normal | RuntimeClassCreated | kubectl-nodepool | last | RuntimeClass node-pool-last created',
  ]);
  assert.deepEqual([one.lines().length, await watching.end(), await one.end()], [1, 130, 130]);
});

test('--watch names a missing permission, and needs it only for the named pool', async t => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], resourceNames: ['own'], verbs: ['watch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
  const subjects = [{ kind: 'User', name: 'reader' }];
  await raw(cluster()).expect('POST', `${rbac}/clusterroles`, { metadata: { name: 'reader' }, rules });
  await raw(cluster()).expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'reader' },
    roleRef,
    subjects,
  });
  await testEnv.pool('a');
  await eventually('it may read', async () => (await cli(cluster(), ['get', 'a', '--as', 'reader'])).code === 0);
  // As kubectl: what it may list, then the error.
  for (const [args, listed, what] of [
    [['get', '-w', '-o', 'name'], 'nodepool.nodes.lailin.xyz/a\n', 'nodepools.nodes.lailin.xyz'],
    [['get', 'a', '-w', '-o', 'name'], 'nodepool.nodes.lailin.xyz/a\n', 'nodepools.nodes.lailin.xyz'],
    [['events', '-w', '--for', 'a'], '', 'events.events.k8s.io'],
  ] as const) {
    const { code, stdout, stderr } = await cli(cluster(), [...args, '--as', 'reader']);
    assert.deepEqual([code, stdout], [1, listed]);
    assert.match(
      stderr,
      new RegExp(`^error: user "[^"]+" may not watch .*; next: ask for a role with verb watch on ${what}\n$`, 'm'),
    );
  }
  await testEnv.pool('own');
  const watching = follow(t, 'get', 'own', '-w', '-o', 'name', '--as', 'reader');
  await watching.has(1);
  await label('own', { x: 'y' });
  await watching.has(2);
});
