/** Labels that pools set and take back make nodes members of other pools: to its end with one patch, or not at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from '../../src/operations/diff.ts';
import { messagesOf } from '../../src/reconciler/failure.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { condition, role, statuses, taintsOf, useWorld } from './world.ts';

const world = useWorld();
const { cluster } = world;

/** Runs once, and gives how many writes each node got. */
async function writesOfRun(...names: string[]): Promise<Record<string, number>> {
  const { cluster: port } = await world.connection();
  const writes: Record<string, number> = {};
  const patch: typeof port.nodes.patch = (name, ...rest) => {
    writes[name] = (writes[name] ?? 0) + 1;
    return port.nodes.patch(name, ...rest);
  };
  await world.reconcileWith(override(port, { nodes: { patch } }), ...names);
  return writes;
}

const unlabel = (node: string, key: string) => world.patchNode(node, { metadata: { labels: { [key]: null } } });
const planned = async () =>
  (await diff([], await world.connection())).plan.nodes.map(({ node, owner }) => [node.name, owner]);

test('a node leaves two pools at once: the taint of the second is never on it, and diff says so', async () => {
  await world.nodes({ name: 'n', labels: { x: '1' } });
  await world.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  const taints = [{ key: 'evict', effect: 'NoExecute' } as const];
  await world.pool('b', { nodeSelector: { tier: 'gold' }, labels: { bb: '1' }, taints }, { younger: true });
  await world.reconcile();
  await unlabel('n', 'x');
  assert.deepEqual(await planned(), [['n', undefined]]);
  assert.deepEqual(await writesOfRun(), { n: 1 });
  const node = await world.node('n');
  assert.deepEqual([node.metadata.labels.tier, node.metadata.labels.bb, taintsOf(node)], [undefined, undefined, []]);
  assert.deepEqual(await planned(), []);
});

test('a value that comes back makes the node join: one write, and the numbers of that pool are right', async () => {
  await world.nodes({ name: 'n', labels: { x: '1', tier: 'legacy' } });
  await world.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  await world.pool('b', { nodeSelector: { tier: 'legacy' }, labels: { bb: '1' } }, { younger: true });
  await world.reconcile();
  await unlabel('n', 'x');
  assert.deepEqual(await planned(), [['n', 'b']]);
  assert.deepEqual(await writesOfRun(), { n: 1 });
  assert.equal((await world.node('n')).metadata.labels.bb, '1');
  assert.equal((await world.getPool('b'))?.status?.nodeCount, 1);
  assert.ok((await world.events('b')).some(({ reason }) => reason === 'NodeJoined'));
});

test('so it is after a delete', async () => {
  await world.nodes({ name: 'n', labels: { x: '1', tier: 'legacy' } });
  await world.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  await world.pool('b', { nodeSelector: { tier: 'legacy' }, labels: { bb: '1' } }, { younger: true });
  await world.reconcile();
  const { stdout } = await cli(cluster(), ['delete', 'a', '--yes']);
  assert.equal(stdout, 'nodepool.nodes.lailin.xyz "a" deleted (1 node released to pool b)\n');
  assert.equal((await world.getPool('b'))?.status?.nodeCount, 1);
});

test('a pool that was not named gets its numbers with the node that it gets', async () => {
  await world.nodes({ name: 'n', labels: role('a') });
  await world.pool('a', { labels: { tier: 'gold' } });
  await world.pool('b', { labels: { tier: 'silver' } });
  await world.reconcile();
  await world.patchNode('n', { metadata: { labels: { 'node-role.kubernetes.io/a': null, ...role('b') } } });
  assert.deepEqual(await writesOfRun('a'), { n: 1 });
  assert.equal((await world.getPool('b'))?.status?.nodeCount, 1);
});

test('a pool on its way out that loses a node to a pool that was named keeps its finalizer until all are released', async () => {
  await world.nodes({ name: 'n1', labels: { ...role('b'), ...role('a') } }, { name: 'n2', labels: role('b') });
  await world.pool('b', { labels: { tier: 'b' } });
  await world.pool('a', { labels: { team: 'a' } }, { younger: true });
  await world.reconcile();
  await raw(cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/b');
  assert.deepEqual(await writesOfRun('a'), { n1: 1 });
  assert.equal((await world.getPool('b'))?.metadata.finalizers?.length, 1);
  await world.reconcile('b');
  assert.equal(await world.getPool('b'), undefined);
  assert.equal((await world.node('n2')).metadata.labels.tier, undefined);
});

test('pools that hand a node to each other for ever: nothing is written, and both are named', async () => {
  await world.nodes({ name: 'n', labels: role('gpu') });
  await world.pool('gpu', { labels: { accelerator: 'nvidia' } });
  await world.pool('nvidia', { nodeSelector: { accelerator: 'nvidia' }, labels: role('gpu') }, { younger: true });
  await world.reconcile();
  await unlabel('n', 'node-role.kubernetes.io/gpu');
  const { resourceVersion } = (await world.node('n')).metadata;
  const summaries = await world.reconcile();
  assert.equal((await world.node('n')).metadata.resourceVersion, resourceVersion);
  const [failure] = summaries.flatMap(({ outcome }) => messagesOf(outcome?.failures ?? []));
  assert.match(failure ?? '', /^node n would go round for ever between the pools gpu, nvidia: /);
  assert.ok(Object.values(statuses(summaries)).includes(500));
  const { stdout } = await cli(cluster(), ['diff']);
  assert.match(stdout, /^! node n is left as it is: .*the pools gpu, nvidia hand it to each other for ever$/m);
});

test('a pool that cannot record all that it would remove: a node that would join it stays in its own, with its taint', async () => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`l${index}`, '1']));
  await world.nodes({ name: 'n', labels: { x: '1', tier: 'legacy' } });
  const taints = [{ key: 'own', effect: 'NoSchedule' } as const];
  await world.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' }, taints });
  await world.pool('strict', { nodeSelector: { tier: 'legacy' }, unmanaged: 'Remove', taints }, { younger: true });
  await world.reconcile();
  await world.patchNode('n', { metadata: { labels: { ...many, x: null } } });
  const summaries = await world.reconcile();
  const node = await world.node('n');
  assert.deepEqual([node.metadata.labels.tier, taintsOf(node)], ['gold', ['own:NoSchedule']]);
  const [failure] = summaries.flatMap(({ outcome }) => messagesOf(outcome?.failures ?? []));
  assert.match(failure ?? '', /^node n is left as it is: .* does not fit into the record \(1000 labels/);
  assert.equal(statuses(summaries).a, 500);
  await world.patchNode('n', { metadata: { labels: { l0: null } } });
  assert.deepEqual(await writesOfRun(), { n: 1 });
  const { labels } = (await world.node('n')).metadata;
  assert.deepEqual(
    [labels.tier, labels.l1, taintsOf(await world.node('n'))],
    ['legacy', undefined, ['own:NoSchedule']],
  );
});

test('what somebody else has set meanwhile is kept: when the pool lets go, and when another one takes it', async () => {
  for (const takenBy of ['nobody', 'b']) {
    await world.nodes({ name: takenBy, labels: { ...role('a'), tier: 'legacy' } });
    await world.patchNode(takenBy, { spec: { taints: [{ key: 'd', value: 'old', effect: 'NoSchedule' }] } });
  }
  await world.pool('a', { labels: { tier: 'gold' }, taints: [{ key: 'd', value: 'a', effect: 'NoSchedule' }] });
  await world.pool('b', { labels: { tier: 'bbb' }, taints: [{ key: 'd', value: 'b', effect: 'NoSchedule' }] });
  await world.reconcile();
  for (const takenBy of ['nobody', 'b']) {
    const labels = { 'node-role.kubernetes.io/a': null, ...(takenBy === 'b' ? role('b') : {}), tier: 'theirs' };
    const taints = [{ key: 'd', value: 'theirs', effect: 'NoSchedule' }];
    await world.patchNode(takenBy, { metadata: { labels }, spec: { taints } });
  }
  await world.reconcile();
  assert.equal((await world.node('b')).metadata.labels.tier, 'bbb');
  await world.delete(['b']);
  for (const name of ['nobody', 'b']) {
    const node = await world.node(name);
    assert.deepEqual([node.metadata.labels.tier, taintsOf(node)], ['theirs', ['d=theirs:NoSchedule']], name);
  }
});

const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';

test("a RuntimeClass of another group's NodePool of that name is not ours", async () => {
  const owner = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    name: 'kp',
    uid: crypto.randomUUID(),
    controller: true,
  };
  const metadata = { name: 'node-pool-kp', ownerReferences: [owner] };
  const theirs = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata, handler: 'theirs' };
  await raw(cluster()).expect('POST', CLASSES, theirs);
  await world.pool('kp');
  assert.deepEqual(statuses(await world.reconcile()), { kp: 200 });
  assert.equal((await world.runtimeClass('kp'))?.handler, 'theirs');
  await world.edit('kp', { spec: { handler: 'ours' } });
  assert.deepEqual(statuses(await world.reconcile()), { kp: 409 });
  assert.equal(condition(await world.getPool('kp'), 'Conflict').reason, 'RuntimeClassConflict');
  await world.delete(['kp']);
  assert.equal((await world.runtimeClass('kp'))?.handler, 'theirs');
  await raw(cluster()).expect('DELETE', `${CLASSES}/node-pool-kp`);
});

test('what others wrote on the RuntimeClass outlives a change of the handler', async () => {
  await world.pool('p', { handler: 'runc' });
  await world.reconcile();
  const theirs = { metadata: { labels: { team: 'x' } }, overhead: { podFixed: { memory: '64Mi' } } };
  await raw(cluster()).expect('PATCH', `${CLASSES}/node-pool-p`, theirs);
  await world.edit('p', { spec: { handler: 'gvisor' } });
  await world.reconcile();
  const made = await world.runtimeClass('p');
  assert.deepEqual([made?.handler, made?.metadata.labels, made?.overhead], ['gvisor', { team: 'x' }, theirs.overhead]);
});
