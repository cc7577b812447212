/**
 * What happens when somebody else acts between our read and our write. The server is real and so is what the other does;
 * one call of the cluster port is held until it is done, so that the crossing happens every time.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { diff } from '../../src/operations/diff.ts';
import { messagesOf } from '../../src/reconciler/failure.ts';
import type { ClusterPort } from '../../src/reconciler/ports.ts';
import { raw } from '../cluster/raw.ts';
import { override, wrapped } from '../override.ts';
import { condition, role, statuses, taintsOf, useWorld } from './world.ts';

const world = useWorld();

type Method = ['nodes', 'patch'] | ['pools', 'setFinalizers' | 'patchStatus'];

const PATCH_NODE: Method = ['nodes', 'patch'];
const SET_FINALIZERS: Method = ['pools', 'setFinalizers'];
const PATCH_STATUS: Method = ['pools', 'patchStatus'];

/** The clients, with `act` done once before the first call of the method. */
async function crossed([client, method]: Method, act: () => Promise<unknown>): Promise<ClusterPort> {
  const { cluster } = await world.connection();
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
  const { cluster } = await world.connection();
  const refuse = async (...args: unknown[]) => {
    throw new NodepoolError('cluster', message(...args));
  };
  return override(cluster, { [client]: { [method]: refuse } });
}

test('the pool is deleted while its nodes are written: what it was given is let go again', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' }, taints: [{ key: 'd', effect: 'NoExecute' }] });
  await world.reconcile();
  await world.nodes({ name: 'b', labels: role('w') });
  const [summary] = await world.reconcileWith(await crossed(PATCH_NODE, () => world.delete(['w'])));
  assert.equal(summary?.outcome?.kind, 'released');
  assert.equal(await world.getPool('w'), undefined);
  for (const name of ['a', 'b']) {
    const node = await world.node(name);
    assert.equal(node.metadata.labels.tier, undefined);
    assert.equal(node.metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
    assert.deepEqual(taintsOf(node), []);
  }
});

test('a pool that got the name of the one we look at keeps its own finalizer and status', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' } });
  await world.reconcile();
  await raw(world.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
  const replace = async () => {
    await world.edit('w', { metadata: { finalizers: [] } });
    await world.pool('w', { labels: { tier: 'new' } });
    await world.reconcile('w');
  };
  await world.reconcileWith(await crossed(SET_FINALIZERS, replace));
  assert.deepEqual((await world.getPool('w'))?.metadata.finalizers, [FINALIZER]);
  assert.equal((await world.node('a')).metadata.labels.tier, 'new');
});

test('the status of a pool is not written onto the pool that got its name', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', {});
  const replace = async () => {
    await world.edit('w', { metadata: { finalizers: [] } });
    await raw(world.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
    await world.pool('w', { nodeSelector: { no: 'node' } });
  };
  await world.reconcileWith(await crossed(PATCH_STATUS, replace));
  assert.equal((await world.getPool('w'))?.status?.nodeCount, 0);
});

test('the pool is edited before its status is written: the status is written all the same', async () => {
  await world.pool('w', {});
  const touch = () => world.edit('w', { metadata: { labels: { touched: 'yes' } } });
  assert.deepEqual(statuses(await world.reconcileWith(await crossed(PATCH_STATUS, touch))), { w: 200 });
  assert.equal((await world.getPool('w'))?.status?.status, 200);
});

test('whoever inherits a node has the finalizer first, also when that shows only after a conflict', async () => {
  await world.nodes({ name: 'n', labels: role('a') });
  await world.pool('a', { labels: { p: 'a' } });
  await world.pool('b', { labels: { p: 'b' } });
  await world.reconcile('a');
  await world.edit('a', { spec: { labels: { q: '1' } } });
  const labels = { 'node-role.kubernetes.io/a': null, ...role('b') };
  await world.reconcileWith(await crossed(PATCH_NODE, () => world.patchNode('n', { metadata: { labels } })), 'a');
  assert.equal((await world.node('n')).metadata.labels.p, 'b');
  assert.deepEqual((await world.getPool('b'))?.metadata.finalizers, [FINALIZER]);
});

test('a node is not handed over to a pool that cannot get its finalizer', async () => {
  await world.nodes({ name: 'n', labels: role('a') });
  await world.pool('a', { labels: { p: 'a' } });
  await world.pool('b', { labels: { p: 'b' } });
  await world.reconcile('a');
  await world.patchNode('n', { metadata: { labels: { 'node-role.kubernetes.io/a': null, ...role('b') } } });
  const [summary] = await world.reconcileWith(await refusing(SET_FINALIZERS, () => 'no finalizers today'), 'a');
  assert.deepEqual(messagesOf(summary?.outcome?.failures ?? []), ['no finalizers today']);
  assert.equal((await world.node('n')).metadata.labels.p, 'a');
});

test('a server that answers conflict for ever ends as an error', async () => {
  await world.pool('w', {});
  const { cluster } = await world.connection();
  const [summary] = await world.reconcileWith(
    override(cluster, { pools: { setFinalizers: async () => ({ kind: 'conflict' }) } }),
  );
  assert.match(summary?.error?.message ?? '', /cannot patch NodePool "w": the cluster keeps answering conflict/);
});

test('the same failures give the same status: no write and no event a run', async () => {
  const names = Array.from({ length: 25 }, (_, index) => `n${index + 10}`);
  await world.nodes(...names.map(name => ({ name, labels: role('w') })));
  await world.pool('w', { labels: { t: '1' } });
  const denied = await refusing(PATCH_NODE, name => `cannot patch Node "${name}": denied`);
  await world.reconcileWith(denied);
  const first = await world.getPool('w');
  assert.match(condition(first, 'Applied').message, /^cannot patch Node "n10": denied; .* and 20 more$/);
  for (let run = 0; run < 5; run++) await world.reconcileWith(denied);
  assert.equal((await world.getPool('w'))?.metadata.resourceVersion, first?.metadata.resourceVersion);
  assert.equal((await world.events('w')).filter(event => event.reason === 'ReconcileFailed').length, 1);
});

test('a RuntimeClass that others hold by a finalizer is a failure of its pool, not of the run', async () => {
  await world.pool('held', { handler: 'runc' });
  await world.pool('free', { handler: 'runc' });
  await world.reconcile();
  const path = '/apis/node.k8s.io/v1/runtimeclasses/node-pool-held';
  await raw(world.cluster()).expect('PATCH', path, { metadata: { finalizers: ['example.com/hold'] } });
  await world.edit('held', { spec: { handler: 'gvisor' } });
  assert.deepEqual(statuses(await world.reconcile()), { free: 200, held: 500 });
  assert.match(condition(await world.getPool('held'), 'Applied').message, /finalizers hold it: example.com\/hold/);
  await raw(world.cluster()).expect('PATCH', path, { metadata: { finalizers: null } });
  assert.deepEqual(statuses(await world.reconcile()), { free: 200, held: 200 });
  assert.equal((await world.runtimeClass('held'))?.handler, 'gvisor');
});

test('a pool with an invalid spec lets go of nodes that left, and of nothing else', async () => {
  await world.nodes({ name: 'left', labels: role('w') }, { name: 'stays', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  await world.reconcile();
  await world.patchNode('left', { metadata: { labels: { 'node-role.kubernetes.io/w': null } } });
  const { cluster } = await world.connection();
  // As from a definition without our rules.
  const invalid = override(cluster, {
    pools: {
      listCoerced: async () =>
        (await cluster.pools.listCoerced()).map(pool => ({
          ...pool,
          spec: { ...pool.spec, labels: { 'kubernetes.io/os': 'x' } },
        })),
    },
  });
  assert.deepEqual(statuses(await world.reconcileWith(invalid)), { w: 422 });
  assert.equal((await world.node('left')).metadata.labels.tier, undefined);
  assert.equal((await world.node('stays')).metadata.labels.tier, 'gold');
  assert.ok(await world.runtimeClass('w'));
});

test('one run is enough where letting go of a label makes the node leave another pool', async () => {
  await world.nodes({ name: 'n', labels: role('a') });
  await world.pool('b', { nodeSelector: { zone: 'b' }, labels: { by: 'b' } });
  await world.pool('a', { labels: { zone: 'b' } }, { younger: true });
  await world.reconcile();
  await world.patchNode('n', { metadata: { labels: { 'node-role.kubernetes.io/a': null } } });
  await world.reconcile();
  const once = await world.node('n');
  await world.reconcile();
  assert.deepEqual(await world.node('n'), once);
});

test('switching a pool to unmanaged: Remove warns before it strips', async () => {
  await world.nodes({ name: 'a', labels: { ...role('w'), 'nvidia.com/gpu': 'true' } });
  await world.pool('w', { labels: { tier: 'gold' } });
  await world.reconcile();
  await world.edit('w', { spec: { unmanaged: 'Remove' } });
  assert.equal((await diff([], await world.connection())).warnings.length, 1);
  await world.reconcile();
  assert.equal(world.warnings.length, 1);
  await world.reconcile();
  assert.equal(world.warnings.length, 1);
});

test('unmanaged: Remove does not end a conflict by taking the other pool’s membership label away', async () => {
  await world.nodes({ name: 'a', labels: { ...role('a'), team: 'b' } });
  await world.pool('a', { unmanaged: 'Remove' });
  await world.pool('b', { nodeSelector: { team: 'b' } }, { younger: true });
  assert.deepEqual(statuses(await world.reconcile()), { a: 200, b: 409 });
  assert.deepEqual(statuses(await world.reconcile()), { a: 200, b: 409 });
});

test('what is given comes RuntimeClass first, what is taken away comes node first, the finalizer first and last', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  const { cluster } = await world.connection();
  const writes: string[] = [];
  const watched = wrapped(cluster, (name, call) => (...args) => {
    if (!/\.(get|list)/.test(name)) writes.push(name);
    return call(...args);
  });
  await world.reconcileWith(watched);
  assert.deepEqual(
    writes.filter(write => write !== 'createEvent'),
    ['pools.setFinalizers', 'runtimeClasses.create', 'nodes.patch', 'pools.patchStatus'],
  );
  writes.length = 0;
  await raw(world.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
  await world.reconcileWith(watched);
  assert.deepEqual(
    writes.filter(write => write !== 'createEvent'),
    ['nodes.patch', 'runtimeClasses.delete', 'pools.setFinalizers'],
  );
});
