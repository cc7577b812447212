/** Pools that the earlier operator made: taken over as they are, and deleted cleanly. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { FINALIZER, RECORD_ANNOTATION, TAKEOVER_ANNOTATION } from '../../src/nodepool/types.ts';
import type { NodesClient } from '../../src/reconciler/ports.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { useCrd } from './earlier-crd.ts';
import { role, statuses, taintsOf, useWorld } from './world.ts';

const world = useWorld();
beforeEach(() => useCrd(world.cluster(), 'ours'));

const TAINT = { key: 'node-pool.lailin.xyz', value: 'worker', effect: 'NoSchedule' } as const;

/** What that operator leaves behind: labelled and tainted nodes, a finalizer, a status, a RuntimeClass. */
async function inherited(): Promise<void> {
  const labels = { ...role('worker'), 'node-pool.lailin.xyz/worker': '10', foreign: 'stays' };
  await world.nodes({ name: 'a', labels, taints: [TAINT, { key: 'theirs', effect: 'NoSchedule' }] });
  const pool = await world.pool(
    'worker',
    { taints: [TAINT], labels: { 'node-pool.lailin.xyz/worker': '10' }, handler: 'runc' },
    { metadata: { finalizers: [FINALIZER] } },
  );
  const client = raw(world.cluster());
  await client.expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/worker/status', {
    status: { status: 200, nodeCount: 1, allocatable: { cpu: '4' } },
  });
  await client.expect('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: {
      name: 'node-pool-worker',
      ownerReferences: [
        {
          apiVersion: 'nodes.lailin.xyz/v1',
          kind: 'NodePool',
          name: 'worker',
          uid: pool.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    handler: 'runc',
    scheduling: { nodeSelector: { 'node-pool.lailin.xyz/worker': '10' } },
  });
}

async function assertReleased(): Promise<void> {
  assert.equal(await world.getPool('worker'), undefined);
  assert.equal(await world.runtimeClass('worker'), undefined);
  const { metadata } = await world.node('a');
  assert.equal(metadata.labels['node-pool.lailin.xyz/worker'], undefined);
  assert.equal(metadata.labels.foreign, 'stays');
  assert.equal(metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
  assert.deepEqual(taintsOf(await world.node('a')), ['theirs:NoSchedule']);
}

test('taken over: one run records what the pool applied and changes no label or taint', async () => {
  await inherited();
  const before = await world.node('a');
  assert.deepEqual(statuses(await world.reconcile()), { worker: 200 });
  const after = await world.node('a');
  assert.deepEqual([after.metadata.labels, after.spec.taints], [before.metadata.labels, before.spec.taints]);
  assert.ok(after.metadata.annotations?.['nodes.lailin.xyz/applied']);
  assert.equal((await world.getPool('worker'))?.status?.observedGeneration, 1);
});

test('deleted after it was taken over', async () => {
  await inherited();
  await world.reconcile();
  await world.delete(['worker']);
  await assertReleased();
});

test('deleted before anything of ours ever ran on it', async () => {
  await inherited();
  await world.delete(['worker']);
  await assertReleased();
});

test('a spec edited after it was taken over: what left it leaves the node', async () => {
  await inherited();
  await world.reconcile();
  await world.edit('worker', { spec: { taints: null, labels: { 'node-pool.lailin.xyz/worker': '20' } } });
  await world.reconcile();
  const node = await world.node('a');
  assert.equal(node.metadata.labels['node-pool.lailin.xyz/worker'], '20');
  assert.deepEqual(taintsOf(node), ['theirs:NoSchedule']);
});

const OURS = { 'node-pool.lailin.xyz/worker': '10' };
const VALUES = { labels: { ...role('worker'), ...OURS }, taints: [TAINT] };

/** Deletes the pool; which of these nodes still have the label and the taint. */
async function kept(...nodes: string[]): Promise<string[]> {
  await world.delete(['worker']);
  const live = await Promise.all(nodes.map(name => world.node(name)));
  return live.flatMap(node => {
    const has = [node.metadata.labels['node-pool.lailin.xyz/worker'] === '10', taintsOf(node).length > 0];
    assert.equal(has[0], has[1], node.metadata.name);
    assert.equal(node.metadata.annotations?.[RECORD_ANNOTATION], undefined);
    return has[0] ? [node.metadata.name] : [];
  });
}

/** As that operator leaves it, with these nodes. */
async function pool(...nodes: string[]): Promise<void> {
  await world.nodes(...nodes.map(name => ({ name, ...VALUES })));
  await world.pool('worker', { taints: [TAINT], labels: OURS }, { metadata: { finalizers: [FINALIZER] } });
  await raw(world.cluster()).expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/worker/status', {
    status: { status: 200, nodeCount: nodes.length },
  });
}

for (const crd of ['ours', 'earlier schema'] as const) {
  test(`a node that joins after the takeover keeps what it had before (CRD: ${crd})`, async () => {
    await useCrd(world.cluster(), crd);
    await pool('before');
    await world.reconcile();
    await world.nodes({ name: 'after', ...VALUES });
    await world.reconcile();
    assert.deepEqual(await kept('before', 'after'), ['after']);
  });

  test(`so does one that joins a pool that had no node when it was taken over (CRD: ${crd})`, async () => {
    await useCrd(world.cluster(), crd);
    await pool();
    await world.reconcile();
    await world.nodes({ name: 'after', ...VALUES });
    await world.reconcile();
    assert.deepEqual(await kept('after'), ['after']);
  });

  test(`and one that joins a pool that was never that operator's (CRD: ${crd})`, async () => {
    await useCrd(world.cluster(), crd);
    await world.pool('worker', { taints: [TAINT], labels: OURS });
    await world.reconcile();
    await world.nodes({ name: 'after', ...VALUES });
    await world.reconcile();
    assert.deepEqual(await kept('after'), ['after']);
  });

  test(`a takeover that lost the server half-way is finished by the next run (CRD: ${crd})`, async () => {
    await useCrd(world.cluster(), crd);
    await pool('a', 'b');
    const { cluster } = await world.connection();
    let writes = 0;
    const patchNode: NodesClient['patch'] = async (...args) => {
      if (writes++ > 0) throw new NodepoolError('cluster', 'no connection', undefined, { isGeneral: true });
      return cluster.nodes.patch(...args);
    };
    await world.reconcileWith(override(cluster, { nodes: { patch: patchNode } }));
    assert.equal(writes, 2);
    assert.equal((await world.getPool('worker'))?.metadata.annotations?.[TAKEOVER_ANNOTATION], 'started');
    await world.reconcile();
    assert.equal((await world.getPool('worker'))?.metadata.annotations?.[TAKEOVER_ANNOTATION], 'finished');
    assert.deepEqual(await kept('a', 'b'), []);
  });
}

test('a pool with records, which an earlier version took over under a CRD that drops fields, is taken over no more', async () => {
  await useCrd(world.cluster(), 'earlier schema');
  await pool('before', 'after');
  const record = JSON.stringify({
    pool: 'worker',
    labels: OURS,
    taints: { 'node-pool.lailin.xyz:NoSchedule': 'worker' },
  });
  await world.patchNode('before', { metadata: { annotations: { [RECORD_ANNOTATION]: record } } });
  await world.reconcile();
  assert.deepEqual(await kept('before', 'after'), ['after']);
});
