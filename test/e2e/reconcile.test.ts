/** Reconciling on a real API server: labels, taints, drift, leaving, status. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOCATABLE_OF_TWO } from '../allocatable.ts';
import { raw } from '../cluster/raw.ts';
import { condition, role, statuses, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const DEDICATED = { key: 'dedicated', value: 'worker', effect: 'NoSchedule' } as const;

test('computes the documented status of the sample with two workers', async () => {
  await testEnv.nodes(
    { name: 'kind-worker', labels: role('worker') },
    { name: 'kind-worker2', labels: role('worker') },
    { name: 'kind-control-plane', labels: role('control-plane') },
  );
  await testEnv.pool('worker', {
    taints: [{ key: 'node-pool.lailin.xyz', value: 'worker', effect: 'NoSchedule' }],
    labels: { 'node-pool.lailin.xyz/worker': '10' },
    handler: 'runc',
  });
  await testEnv.reconcile();
  const status = (await testEnv.getPool('worker'))?.status;
  assert.equal(status?.status, 200);
  assert.equal(status?.nodeCount, 2);
  assert.deepEqual(status?.allocatable, ALLOCATABLE_OF_TWO);
  const node = await testEnv.node('kind-worker');
  assert.equal(node.metadata.labels['node-pool.lailin.xyz/worker'], '10');
  assert.deepEqual(taintsOf(node), ['node-pool.lailin.xyz=worker:NoSchedule']);
  assert.deepEqual(taintsOf(await testEnv.node('kind-control-plane')), []);
  assert.equal((await testEnv.runtimeClass('worker'))?.handler, 'runc');
});

test('a second run writes nothing', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' }, taints: [DEDICATED], handler: 'runc' });
  await testEnv.reconcile();
  const before = [await testEnv.node('a'), await testEnv.getPool('worker'), await testEnv.runtimeClass('worker')];
  const events = (await testEnv.events('worker')).length;
  await testEnv.reconcile();
  assert.deepEqual(
    [await testEnv.node('a'), await testEnv.getPool('worker'), await testEnv.runtimeClass('worker')],
    before,
  );
  assert.equal((await testEnv.events('worker')).length, events);
});

test('removes labels and taints that left the spec, and keeps foreign ones', async () => {
  await testEnv.nodes({
    name: 'a',
    labels: { ...role('worker'), 'cloud.example.com/zone': 'z1' },
    taints: [{ key: 'cni.example.com/agent-not-ready', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' }],
  });
  await testEnv.pool('worker', { labels: { tier: 'gold', team: 'a' }, taints: [DEDICATED] });
  await testEnv.reconcile();
  await testEnv.edit('worker', { spec: { labels: { team: null }, taints: null } });
  await testEnv.reconcile();
  const { metadata, spec } = await testEnv.node('a');
  assert.equal(metadata.labels.tier, 'gold');
  assert.equal(metadata.labels.team, undefined);
  assert.equal(metadata.labels['cloud.example.com/zone'], 'z1');
  assert.deepEqual(spec.taints, [
    { key: 'cni.example.com/agent-not-ready', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' },
  ]);
});

test('repairs drift of owned keys and records an event', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' }, taints: [DEDICATED] });
  await testEnv.reconcile();
  const foreign = { key: 'theirs', effect: 'NoSchedule' };
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'lead' } }, spec: { taints: [foreign] } });
  await testEnv.reconcile();
  const node = await testEnv.node('a');
  assert.equal(node.metadata.labels.tier, 'gold');
  assert.deepEqual(taintsOf(node), ['theirs:NoSchedule', 'dedicated=worker:NoSchedule']);
  const notes = (await testEnv.events('worker')).filter(event => event.reason === 'NodesUpdated').map(e => e.note);
  assert.deepEqual(notes, [
    '1 node updated (label tier changed from "lead" to "gold" (drift), taint dedicated:NoSchedule set to "worker" (drift)): a',
  ]);
});

test('cleans up a node that leaves, and restores displaced values', async () => {
  await testEnv.nodes({
    name: 'a',
    labels: { ...role('worker'), tier: 'old' },
    taints: [{ key: 'dedicated', value: 'old', effect: 'NoSchedule' }],
  });
  await testEnv.pool('worker', { labels: { tier: 'gold', team: 'x' }, taints: [DEDICATED] });
  await testEnv.reconcile();
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['dedicated=worker:NoSchedule']);
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/worker': null } } });
  await testEnv.reconcile();
  const node = await testEnv.node('a');
  assert.deepEqual([node.metadata.labels.tier, node.metadata.labels.team], ['old', undefined]);
  assert.deepEqual(taintsOf(node), ['dedicated=old:NoSchedule']);
  assert.equal(node.metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
  const pool = await testEnv.getPool('worker');
  assert.deepEqual([pool?.status?.nodeCount, pool?.status?.allocatable], [0, {}]);
  assert.equal(pool?.status?.status, 200);
  assert.ok((await testEnv.events('worker')).some(event => event.reason === 'NodeLeft' && event.note.endsWith(': a')));
});

test('releases old members and adds new ones when the selector changes', async () => {
  await testEnv.nodes({ name: 'a', labels: { x: '1' } }, { name: 'b', labels: { x: '2' } });
  await testEnv.pool('worker', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.edit('worker', { spec: { nodeSelector: { x: '2' } } });
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels.tier, undefined);
  assert.equal((await testEnv.node('b')).metadata.labels.tier, 'gold');
});

test('moves a node between pools in one write, with events on both', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { labels: { first: 'yes' }, taints: [{ key: 'one', effect: 'NoSchedule' }] });
  await testEnv.pool('two', { labels: { second: 'yes' }, taints: [{ key: 'two', effect: 'NoSchedule' }] });
  await testEnv.reconcile();
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/one': null, ...role('two') } } });
  const summaries = await testEnv.reconcile();
  assert.deepEqual(
    summaries.map(({ pool, joined, left }) => [pool, joined, left]),
    [
      ['one', 0, 1],
      ['two', 1, 0],
    ],
  );
  assert.equal(summaries.flatMap(({ outcome }) => outcome?.moves ?? []).length, 1);
  const { metadata, spec } = await testEnv.node('a');
  assert.deepEqual([metadata.labels.first, metadata.labels.second], [undefined, 'yes']);
  assert.deepEqual(spec.taints, [{ key: 'two', effect: 'NoSchedule' }]);
  assert.ok((await testEnv.events('one')).some(event => event.reason === 'NodeLeft'));
  assert.ok((await testEnv.events('two')).some(event => event.reason === 'NodeJoined'));
});

test('reconciles only the named pool, and cleans up a node that left it', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('two') });
  await testEnv.pool('one', { labels: { first: 'yes' } });
  await testEnv.pool('two', { labels: { second: 'yes' } });
  await testEnv.reconcile('one');
  assert.equal((await testEnv.node('b')).metadata.labels.second, undefined);
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/one': null, ...role('two') } } });
  await testEnv.reconcile('one');
  assert.equal((await testEnv.node('a')).metadata.labels.first, undefined);
});

test('counts NotReady and cordoned nodes, and pools without members', async () => {
  await testEnv.nodes(
    { name: 'down', labels: role('sick'), ready: false },
    { name: 'up', labels: role('mixed') },
    { name: 'mixed-down', labels: role('mixed'), ready: false },
    { name: 'cordoned', labels: role('mixed'), unschedulable: true },
  );
  await testEnv.pool('sick', { taints: [DEDICATED] });
  await testEnv.pool('mixed');
  await testEnv.pool('empty', { labels: { a: 'b' } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { empty: 200, mixed: 200, sick: 503 });
  const mixed = (await testEnv.getPool('mixed'))?.status;
  assert.deepEqual([mixed?.nodeCount, mixed?.readyNodeCount, mixed?.unschedulableNodeCount], [3, 2, 1]);
  assert.equal(mixed?.allocatable?.cpu, '12');
  assert.deepEqual(taintsOf(await testEnv.node('down')).toSorted(), [
    'dedicated=worker:NoSchedule',
    'node.kubernetes.io/not-ready:NoSchedule',
  ]);
  assert.equal(condition(await testEnv.getPool('sick'), 'Ready').reason, 'NoReadyNode');
});

test('applies a NoExecute taint beside a NoSchedule taint with the same key', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { taints: [DEDICATED, { ...DEDICATED, effect: 'NoExecute' }] });
  await testEnv.reconcile();
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['dedicated=worker:NoSchedule', 'dedicated=worker:NoExecute']);
});

test('does not count a deleted node', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') }, { name: 'b', labels: role('worker') });
  await testEnv.pool('worker');
  await testEnv.reconcile();
  await raw(testEnv.cluster()).expect('DELETE', '/api/v1/nodes/b');
  await testEnv.reconcile();
  assert.equal((await testEnv.getPool('worker'))?.status?.nodeCount, 1);
});

test('a server dry run changes nothing', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' }, handler: 'runc' });
  const before = [await testEnv.node('a'), await testEnv.getPool('worker')];
  const [summary] = await testEnv.dryRun();
  assert.equal(summary?.joined, 1);
  assert.deepEqual([await testEnv.node('a'), await testEnv.getPool('worker')], before);
  assert.equal(await testEnv.runtimeClass('worker'), undefined);
  assert.deepEqual(await testEnv.events('worker'), []);
});

test('unmanaged: Remove strips nodes, warns on the first plan only, and restores values on delete', async () => {
  const labels = { ...role('worker'), 'nvidia.com/gpu': 'true', 'kubernetes.io/hostname': 'a' };
  await testEnv.nodes({ name: 'a', labels, taints: [{ key: 'nvidia.com/gpu', effect: 'NoSchedule' }] });
  await testEnv.pool('worker', { labels: { tier: 'gold' }, unmanaged: 'Remove' });
  await testEnv.reconcile();
  assert.equal(testEnv.warnings.length, 1);
  const stripped = await testEnv.node('a');
  assert.equal(stripped.metadata.labels['nvidia.com/gpu'], undefined);
  assert.equal(stripped.metadata.labels['kubernetes.io/hostname'], 'a');
  assert.deepEqual(taintsOf(stripped), []);
  await testEnv.reconcile();
  assert.equal(testEnv.warnings.length, 1);
  await testEnv.delete(['worker']);
  const restored = await testEnv.node('a');
  assert.equal(restored.metadata.labels['nvidia.com/gpu'], 'true');
  assert.deepEqual(taintsOf(restored), ['nvidia.com/gpu:NoSchedule']);
});
