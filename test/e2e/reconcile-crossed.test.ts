/**
 * Somebody else writes between our read and our write. The server and that write are real; one call of the cluster port
 * is held until it is done, so that the race happens every time.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from '../../src/commands/shared/changes/diff.ts';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { messagesOf } from '../../src/reconciler/outcome.ts';
import { raw } from '../cluster/raw.ts';
import { override, wrapped } from '../override.ts';
import { condition, role, statuses, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

type Method = ['nodes', 'patch'] | ['pools', 'setFinalizers' | 'patchStatus'];

const PATCH_NODE: Method = ['nodes', 'patch'];
const SET_FINALIZERS: Method = ['pools', 'setFinalizers'];
const PATCH_STATUS: Method = ['pools', 'patchStatus'];

/** The clients, with `act` done once before the first call of the method. */
async function crossed([client, method]: Method, act: () => Promise<unknown>): Promise<ClusterPort> {
  const { cluster } = await testEnv.connection();
  const call = (cluster[client] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[method];
  let first = true;
  const crossing = async (...args: unknown[]) => {
    if (first) {
      first = false;
      await act();
    }
    return call?.(...args);
  };
  return override(cluster, { [client]: { [method]: crossing } });
}

async function refusing([client, method]: Method, message: (...args: unknown[]) => string): Promise<ClusterPort> {
  const { cluster } = await testEnv.connection();
  const refuse = async (...args: unknown[]) => {
    throw new NodepoolError('cluster', message(...args));
  };
  return override(cluster, { [client]: { [method]: refuse } });
}

test('releases the nodes again when the pool is deleted while they are written', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' }, taints: [{ key: 'd', effect: 'NoExecute' }] });
  await testEnv.reconcile();
  await testEnv.nodes({ name: 'b', labels: role('w') });
  const [summary] = await testEnv.reconcileWith(await crossed(PATCH_NODE, () => testEnv.delete(['w'])));
  assert.equal(summary?.outcome?.kind, 'released');
  assert.equal(await testEnv.getPool('w'), undefined);
  for (const name of ['a', 'b']) {
    const node = await testEnv.node(name);
    assert.equal(node.metadata.labels.tier, undefined);
    assert.equal(node.metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
    assert.deepEqual(taintsOf(node), []);
  }
});

test('does not write finalizer and status of a pool to its recreated successor', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
  const replace = async () => {
    await testEnv.edit('w', { metadata: { finalizers: [] } });
    await testEnv.pool('w', { labels: { tier: 'new' } });
    await testEnv.reconcile('w');
  };
  await testEnv.reconcileWith(await crossed(SET_FINALIZERS, replace));
  assert.deepEqual((await testEnv.getPool('w'))?.metadata.finalizers, [FINALIZER]);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'new');
});

test('does not write the status of a pool to its recreated successor', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', {});
  const replace = async () => {
    await testEnv.edit('w', { metadata: { finalizers: [] } });
    await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
    await testEnv.pool('w', { nodeSelector: { no: 'node' } });
  };
  await testEnv.reconcileWith(await crossed(PATCH_STATUS, replace));
  assert.equal((await testEnv.getPool('w'))?.status?.nodeCount, 0);
});

test('writes the status when the pool was edited meanwhile', async () => {
  await testEnv.pool('w', {});
  const touch = () => testEnv.edit('w', { metadata: { labels: { touched: 'yes' } } });
  assert.deepEqual(statuses(await testEnv.reconcileWith(await crossed(PATCH_STATUS, touch))), { w: 200 });
  assert.equal((await testEnv.getPool('w'))?.status?.status, 200);
});

test('the next owner of a node gets its finalizer first, even after a conflict', async () => {
  await testEnv.nodes({ name: 'n', labels: role('a') });
  await testEnv.pool('a', { labels: { p: 'a' } });
  await testEnv.pool('b', { labels: { p: 'b' } });
  await testEnv.reconcile('a');
  await testEnv.edit('a', { spec: { labels: { q: '1' } } });
  const labels = { 'node-role.kubernetes.io/a': null, ...role('b') };
  await testEnv.reconcileWith(await crossed(PATCH_NODE, () => testEnv.patchNode('n', { metadata: { labels } })), 'a');
  assert.equal((await testEnv.node('n')).metadata.labels.p, 'b');
  assert.deepEqual((await testEnv.getPool('b'))?.metadata.finalizers, [FINALIZER]);
});

test('does not move a node to a pool that cannot get its finalizer', async () => {
  await testEnv.nodes({ name: 'n', labels: role('a') });
  await testEnv.pool('a', { labels: { p: 'a' } });
  await testEnv.pool('b', { labels: { p: 'b' } });
  await testEnv.reconcile('a');
  await testEnv.patchNode('n', { metadata: { labels: { 'node-role.kubernetes.io/a': null, ...role('b') } } });
  const [summary] = await testEnv.reconcileWith(await refusing(SET_FINALIZERS, () => 'no finalizers today'), 'a');
  assert.deepEqual(messagesOf(summary?.outcome?.failures ?? []), ['no finalizers today']);
  assert.equal((await testEnv.node('n')).metadata.labels.p, 'a');
});

test('ends with an error when the server answers conflict forever', async () => {
  await testEnv.pool('w', {});
  const { cluster } = await testEnv.connection();
  const [summary] = await testEnv.reconcileWith(
    override(cluster, { pools: { setFinalizers: async () => ({ kind: 'conflict' }) } }),
  );
  assert.match(summary?.error?.message ?? '', /cannot patch NodePool "w": the server keeps answering with a conflict/);
});

test('repeats neither status writes nor events for the same failures', async () => {
  const names = Array.from({ length: 25 }, (_, index) => `n${index + 10}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('w') })));
  await testEnv.pool('w', { labels: { t: '1' } });
  const denied = await refusing(PATCH_NODE, name => `cannot patch Node "${name}": denied`);
  await testEnv.reconcileWith(denied);
  const first = await testEnv.getPool('w');
  assert.match(
    condition(first, 'Applied').message,
    /^25 of 25 nodes differ from .*; cannot patch Node "n10": denied; .* and 20 more$/,
  );
  for (let run = 0; run < 5; run++) await testEnv.reconcileWith(denied);
  assert.equal((await testEnv.getPool('w'))?.metadata.resourceVersion, first?.metadata.resourceVersion);
  assert.equal((await testEnv.events('w')).filter(event => event.reason === 'ReconcileFailed').length, 1);
});

test('a RuntimeClass with a foreign finalizer fails its pool, not the run', async () => {
  await testEnv.pool('held', { handler: 'runc' });
  await testEnv.pool('free', { handler: 'runc' });
  await testEnv.reconcile();
  const path = '/apis/node.k8s.io/v1/runtimeclasses/node-pool-held';
  await raw(testEnv.cluster()).expect('PATCH', path, { metadata: { finalizers: ['example.com/hold'] } });
  await testEnv.edit('held', { spec: { handler: 'gvisor' } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { free: 200, held: 500 });
  assert.match(
    condition(await testEnv.getPool('held'), 'Applied').message,
    /while it has finalizers: example.com\/hold/,
  );
  await raw(testEnv.cluster()).expect('PATCH', path, { metadata: { finalizers: null } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { free: 200, held: 200 });
  assert.equal((await testEnv.runtimeClass('held'))?.handler, 'gvisor');
});

test('a pool with an invalid spec releases only nodes that left', async () => {
  await testEnv.nodes({ name: 'left', labels: role('w') }, { name: 'stays', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  await testEnv.reconcile();
  await testEnv.patchNode('left', { metadata: { labels: { 'node-role.kubernetes.io/w': null } } });
  const { cluster } = await testEnv.connection();
  // As from a CRD without our rules.
  const invalid = override(cluster, {
    pools: {
      listCoerced: async () =>
        (await cluster.pools.listCoerced()).map(pool => ({
          ...pool,
          spec: { ...pool.spec, labels: { 'kubernetes.io/os': 'x' } },
        })),
    },
  });
  assert.deepEqual(statuses(await testEnv.reconcileWith(invalid)), { w: 422 });
  assert.equal((await testEnv.node('left')).metadata.labels.tier, undefined);
  assert.equal((await testEnv.node('stays')).metadata.labels.tier, 'gold');
  assert.ok(await testEnv.runtimeClass('w'));
});

test('one run suffices when releasing a label makes the node leave another pool', async () => {
  await testEnv.nodes({ name: 'n', labels: role('a') });
  await testEnv.pool('b', { nodeSelector: { zone: 'b' }, labels: { by: 'b' } });
  await testEnv.pool('a', { labels: { zone: 'b' } }, { younger: true });
  await testEnv.reconcile();
  await testEnv.patchNode('n', { metadata: { labels: { 'node-role.kubernetes.io/a': null } } });
  await testEnv.reconcile();
  const once = await testEnv.node('n');
  await testEnv.reconcile();
  assert.deepEqual(await testEnv.node('n'), once);
});

test('warns before it strips nodes after a switch to unmanaged: Remove', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('w'), 'nvidia.com/gpu': 'true' } });
  await testEnv.pool('w', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.edit('w', { spec: { unmanaged: 'Remove' } });
  assert.equal((await diff([], await testEnv.connection())).warnings.length, 1);
  await testEnv.reconcile();
  assert.equal(testEnv.warnings.length, 1);
  await testEnv.reconcile();
  assert.equal(testEnv.warnings.length, 1);
});

test('unmanaged: Remove keeps the membership label of the conflicting pool', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('a'), team: 'b' } });
  await testEnv.pool('a', { unmanaged: 'Remove' });
  await testEnv.pool('b', { nodeSelector: { team: 'b' } }, { younger: true });
  assert.deepEqual(statuses(await testEnv.reconcile()), { a: 200, b: 409 });
  assert.deepEqual(statuses(await testEnv.reconcile()), { a: 200, b: 409 });
});

test('adds finalizer, RuntimeClass, then nodes, and removes them in reverse order', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  const { cluster } = await testEnv.connection();
  const writes: string[] = [];
  const watched = wrapped(cluster, (name, call) => (...args) => {
    if (!/\.(get|list|heads)/.test(name)) writes.push(name);
    return call(...args);
  });
  await testEnv.reconcileWith(watched);
  assert.deepEqual(
    writes.filter(write => write !== 'createEvent'),
    ['pools.setFinalizers', 'revisions.create', 'runtimeClasses.create', 'nodes.patch', 'pools.patchStatus'],
  );
  writes.length = 0;
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
  await testEnv.reconcileWith(watched);
  assert.deepEqual(
    writes.filter(write => write !== 'createEvent'),
    ['nodes.patch', 'runtimeClasses.delete', 'pools.setFinalizers'],
  );
});
