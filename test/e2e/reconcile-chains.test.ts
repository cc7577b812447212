/** Labels that pools set or release make nodes join other pools: done completely in one patch, or not at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from '../../src/commands/shared/changes/diff.ts';
import { messagesOf } from '../../src/reconciler/outcome.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { condition, role, statuses, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

/** Reconciles once; returns the number of writes of each node. */
async function writesOfRun(...names: string[]): Promise<Record<string, number>> {
  const { cluster: port } = await testEnv.connection();
  const writes: Record<string, number> = {};
  const patch: typeof port.nodes.patch = (name, ...rest) => {
    writes[name] = (writes[name] ?? 0) + 1;
    return port.nodes.patch(name, ...rest);
  };
  await testEnv.reconcileWith(override(port, { nodes: { patch } }), ...names);
  return writes;
}

const unlabel = (node: string, key: string) => testEnv.patchNode(node, { metadata: { labels: { [key]: null } } });
const planned = async () =>
  (await diff([], await testEnv.connection())).plan.nodes.map(({ node, owner }) => [node.name, owner]);

test('a node that leaves two pools at once never gets taints of the second, as diff shows', async () => {
  await testEnv.nodes({ name: 'n', labels: { x: '1' } });
  await testEnv.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  const taints = [{ key: 'evict', effect: 'NoExecute' } as const];
  await testEnv.pool('b', { nodeSelector: { tier: 'gold' }, labels: { bb: '1' }, taints }, { younger: true });
  await testEnv.reconcile();
  await unlabel('n', 'x');
  assert.deepEqual(await planned(), [['n', undefined]]);
  assert.deepEqual(await writesOfRun(), { n: 1 });
  const node = await testEnv.node('n');
  assert.deepEqual([node.metadata.labels.tier, node.metadata.labels.bb, taintsOf(node)], [undefined, undefined, []]);
  assert.deepEqual(await planned(), []);
});

test('a restored label that moves a node to another pool takes one write', async () => {
  await testEnv.nodes({ name: 'n', labels: { x: '1', tier: 'legacy' } });
  await testEnv.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  await testEnv.pool('b', { nodeSelector: { tier: 'legacy' }, labels: { bb: '1' } }, { younger: true });
  await testEnv.reconcile();
  await unlabel('n', 'x');
  assert.deepEqual(await planned(), [['n', 'b']]);
  assert.deepEqual(await writesOfRun(), { n: 1 });
  assert.equal((await testEnv.node('n')).metadata.labels.bb, '1');
  assert.equal((await testEnv.getPool('b'))?.status?.nodeCount, 1);
  assert.ok((await testEnv.events('b')).some(({ reason }) => reason === 'NodeJoined'));
});

test('deleting the pool instead has the same result', async () => {
  await testEnv.nodes({ name: 'n', labels: { x: '1', tier: 'legacy' } });
  await testEnv.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' } });
  await testEnv.pool('b', { nodeSelector: { tier: 'legacy' }, labels: { bb: '1' } }, { younger: true });
  await testEnv.reconcile();
  const { stdout } = await cli(cluster(), ['delete', 'a', '--yes']);
  assert.equal(stdout, 'nodepool.nodes.lailin.xyz "a" deleted (1 node released to pool b)\n');
  assert.equal((await testEnv.getPool('b'))?.status?.nodeCount, 1);
});

test('updates the status of a pool that gains a node without being named', async () => {
  await testEnv.nodes({ name: 'n', labels: role('a') });
  await testEnv.pool('a', { labels: { tier: 'gold' } });
  await testEnv.pool('b', { labels: { tier: 'silver' } });
  await testEnv.reconcile();
  await testEnv.patchNode('n', { metadata: { labels: { 'node-role.kubernetes.io/a': null, ...role('b') } } });
  assert.deepEqual(await writesOfRun('a'), { n: 1 });
  assert.equal((await testEnv.getPool('b'))?.status?.nodeCount, 1);
});

test('a terminating pool that loses a node keeps its finalizer until all nodes are released', async () => {
  await testEnv.nodes({ name: 'n1', labels: { ...role('b'), ...role('a') } }, { name: 'n2', labels: role('b') });
  await testEnv.pool('b', { labels: { tier: 'b' } });
  await testEnv.pool('a', { labels: { team: 'a' } }, { younger: true });
  await testEnv.reconcile();
  await raw(cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/b');
  assert.deepEqual(await writesOfRun('a'), { n1: 1 });
  assert.equal((await testEnv.getPool('b'))?.metadata.finalizers?.length, 1);
  await testEnv.reconcile('b');
  assert.equal(await testEnv.getPool('b'), undefined);
  assert.equal((await testEnv.node('n2')).metadata.labels.tier, undefined);
});

test('writes nothing for pools that move a node back and forth forever, and names both', async () => {
  await testEnv.nodes({ name: 'n', labels: role('gpu') });
  await testEnv.pool('gpu', { labels: { accelerator: 'nvidia' } });
  await testEnv.pool('nvidia', { nodeSelector: { accelerator: 'nvidia' }, labels: role('gpu') }, { younger: true });
  await testEnv.reconcile();
  await unlabel('n', 'node-role.kubernetes.io/gpu');
  const { resourceVersion } = (await testEnv.node('n')).metadata;
  const summaries = await testEnv.reconcile();
  assert.equal((await testEnv.node('n')).metadata.resourceVersion, resourceVersion);
  const [failure] = summaries.flatMap(({ outcome }) => messagesOf(outcome?.failures ?? []));
  assert.match(failure ?? '', /^node n was not written: the labels of pools gpu, nvidia move nodes to another pool/);
  assert.ok(Object.values(statuses(summaries)).includes(500));
  const { stdout } = await cli(cluster(), ['diff']);
  assert.match(
    stdout,
    /^! node n is not written: the labels of pools gpu, nvidia move nodes to another pool in an endless loop; next: change the labels or the nodeSelector of one of them$/m,
  );
});

test('a node stays in its pool when the next owner could not record the values it removes', async () => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`l${index}`, '1']));
  await testEnv.nodes({ name: 'n', labels: { x: '1', tier: 'legacy' } });
  const taints = [{ key: 'own', effect: 'NoSchedule' } as const];
  await testEnv.pool('a', { nodeSelector: { x: '1' }, labels: { tier: 'gold' }, taints });
  await testEnv.pool('strict', { nodeSelector: { tier: 'legacy' }, unmanaged: 'Remove', taints }, { younger: true });
  await testEnv.reconcile();
  await testEnv.patchNode('n', { metadata: { labels: { ...many, x: null } } });
  const summaries = await testEnv.reconcile();
  const node = await testEnv.node('n');
  assert.deepEqual([node.metadata.labels.tier, taintsOf(node)], ['gold', ['own:NoSchedule']]);
  const [failure] = summaries.flatMap(({ outcome }) => messagesOf(outcome?.failures ?? []));
  assert.match(failure ?? '', /^node n was not written: .* does not fit into the record \(1000 labels/);
  assert.equal(statuses(summaries).a, 500);
  await testEnv.patchNode('n', { metadata: { labels: { l0: null } } });
  assert.deepEqual(await writesOfRun(), { n: 1 });
  const { labels } = (await testEnv.node('n')).metadata;
  assert.deepEqual(
    [labels.tier, labels.l1, taintsOf(await testEnv.node('n'))],
    ['legacy', undefined, ['own:NoSchedule']],
  );
});

test('keeps values that somebody else set meanwhile when the node is released or moves', async () => {
  for (const takenBy of ['nobody', 'b']) {
    await testEnv.nodes({ name: takenBy, labels: { ...role('a'), tier: 'legacy' } });
    await testEnv.patchNode(takenBy, { spec: { taints: [{ key: 'd', value: 'old', effect: 'NoSchedule' }] } });
  }
  await testEnv.pool('a', { labels: { tier: 'gold' }, taints: [{ key: 'd', value: 'a', effect: 'NoSchedule' }] });
  await testEnv.pool('b', { labels: { tier: 'bbb' }, taints: [{ key: 'd', value: 'b', effect: 'NoSchedule' }] });
  await testEnv.reconcile();
  for (const takenBy of ['nobody', 'b']) {
    const labels = { 'node-role.kubernetes.io/a': null, ...(takenBy === 'b' ? role('b') : {}), tier: 'theirs' };
    const taints = [{ key: 'd', value: 'theirs', effect: 'NoSchedule' }];
    await testEnv.patchNode(takenBy, { metadata: { labels }, spec: { taints } });
  }
  await testEnv.reconcile();
  assert.equal((await testEnv.node('b')).metadata.labels.tier, 'bbb');
  await testEnv.delete(['b']);
  for (const name of ['nobody', 'b']) {
    const node = await testEnv.node(name);
    assert.deepEqual([node.metadata.labels.tier, taintsOf(node)], ['theirs', ['d=theirs:NoSchedule']], name);
  }
});

const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';

test('treats a RuntimeClass owned by a NodePool of another API group as foreign', async () => {
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
  await testEnv.pool('kp');
  assert.deepEqual(statuses(await testEnv.reconcile()), { kp: 200 });
  assert.equal((await testEnv.runtimeClass('kp'))?.handler, 'theirs');
  await testEnv.edit('kp', { spec: { handler: 'ours' } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { kp: 409 });
  assert.equal(condition(await testEnv.getPool('kp'), 'Conflict').reason, 'RuntimeClassConflict');
  await testEnv.delete(['kp']);
  assert.equal((await testEnv.runtimeClass('kp'))?.handler, 'theirs');
  await raw(cluster()).expect('DELETE', `${CLASSES}/node-pool-kp`);
});

test('keeps labels and annotations of others on the RuntimeClass when the handler changes', async () => {
  await testEnv.pool('p', { handler: 'runc' });
  await testEnv.reconcile();
  const theirs = { metadata: { labels: { team: 'x' } }, overhead: { podFixed: { memory: '64Mi' } } };
  await raw(cluster()).expect('PATCH', `${CLASSES}/node-pool-p`, theirs);
  await testEnv.edit('p', { spec: { handler: 'gvisor' } });
  await testEnv.reconcile();
  const made = await testEnv.runtimeClass('p');
  assert.deepEqual([made?.handler, made?.metadata.labels, made?.overhead], ['gvisor', { team: 'x' }, theirs.overhead]);
});
