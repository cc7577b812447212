/** Pools that the earlier operator made: taken over as they are, and deleted cleanly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { role, statuses, taintsOf, useWorld } from './world.ts';

const world = useWorld();
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
