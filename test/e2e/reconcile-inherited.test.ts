/** Pools of the earlier operator: taken over unchanged, and deleted cleanly. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { NodesClient } from '../../src/kube/cluster.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { FINALIZER, RECORD_ANNOTATION, TAKEOVER_ANNOTATION } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { useCrd } from './earlier-crd.ts';
import { role, statuses, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
beforeEach(() => useCrd(testEnv.cluster(), 'ours'));

const TAINT = { key: 'node-pool.lailin.xyz', value: 'worker', effect: 'NoSchedule' } as const;

/** What that operator leaves: labelled and tainted nodes, a finalizer, a status, a RuntimeClass. */
async function inherited(): Promise<void> {
  const labels = { ...role('worker'), 'node-pool.lailin.xyz/worker': '10', foreign: 'stays' };
  await testEnv.nodes({ name: 'a', labels, taints: [TAINT, { key: 'theirs', effect: 'NoSchedule' }] });
  const pool = await testEnv.pool(
    'worker',
    { taints: [TAINT], labels: { 'node-pool.lailin.xyz/worker': '10' }, handler: 'runc' },
    { metadata: { finalizers: [FINALIZER] } },
  );
  const client = raw(testEnv.cluster());
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
  assert.equal(await testEnv.getPool('worker'), undefined);
  assert.equal(await testEnv.runtimeClass('worker'), undefined);
  const { metadata } = await testEnv.node('a');
  assert.equal(metadata.labels['node-pool.lailin.xyz/worker'], undefined);
  assert.equal(metadata.labels.foreign, 'stays');
  assert.equal(metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['theirs:NoSchedule']);
}

test('the first run records what the earlier operator applied and changes no label or taint', async () => {
  await inherited();
  const before = await testEnv.node('a');
  assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 200 });
  const after = await testEnv.node('a');
  assert.deepEqual([after.metadata.labels, after.spec.taints], [before.metadata.labels, before.spec.taints]);
  assert.ok(after.metadata.annotations?.['nodes.lailin.xyz/applied']);
  assert.equal((await testEnv.getPool('worker'))?.status?.observedGeneration, 1);
});

test('releases the nodes of a pool that is deleted after the takeover', async () => {
  await inherited();
  await testEnv.reconcile();
  await testEnv.delete(['worker']);
  await assertReleased();
});

test('releases the nodes of a pool that is deleted before any takeover', async () => {
  await inherited();
  await testEnv.delete(['worker']);
  await assertReleased();
});

test('removes from nodes what an edit after the takeover removes from the spec', async () => {
  await inherited();
  await testEnv.reconcile();
  await testEnv.edit('worker', { spec: { taints: null, labels: { 'node-pool.lailin.xyz/worker': '20' } } });
  await testEnv.reconcile();
  const node = await testEnv.node('a');
  assert.equal(node.metadata.labels['node-pool.lailin.xyz/worker'], '20');
  assert.deepEqual(taintsOf(node), ['theirs:NoSchedule']);
});

const OURS = { 'node-pool.lailin.xyz/worker': '10' };
const VALUES = { labels: { ...role('worker'), ...OURS }, taints: [TAINT] };

/** Deletes the pool; returns which of these nodes still have the label and the taint. */
async function kept(...nodes: string[]): Promise<string[]> {
  await testEnv.delete(['worker']);
  const live = await Promise.all(nodes.map(name => testEnv.node(name)));
  return live.flatMap(node => {
    const has = [node.metadata.labels['node-pool.lailin.xyz/worker'] === '10', taintsOf(node).length > 0];
    assert.equal(has[0], has[1], node.metadata.name);
    assert.equal(node.metadata.annotations?.[RECORD_ANNOTATION], undefined);
    return has[0] ? [node.metadata.name] : [];
  });
}

/** A pool as that operator leaves it, with these nodes. */
async function pool(...nodes: string[]): Promise<void> {
  await testEnv.nodes(...nodes.map(name => ({ name, ...VALUES })));
  await testEnv.pool('worker', { taints: [TAINT], labels: OURS }, { metadata: { finalizers: [FINALIZER] } });
  await raw(testEnv.cluster()).expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/worker/status', {
    status: { status: 200, nodeCount: nodes.length },
  });
}

for (const crd of ['ours', 'earlier schema'] as const) {
  test(`a node that joins after the takeover keeps what it had before (CRD: ${crd})`, async () => {
    await useCrd(testEnv.cluster(), crd);
    await pool('before');
    await testEnv.reconcile();
    await testEnv.nodes({ name: 'after', ...VALUES });
    await testEnv.reconcile();
    assert.deepEqual(await kept('before', 'after'), ['after']);
  });

  test(`a node that joins a pool taken over without nodes keeps its values (CRD: ${crd})`, async () => {
    await useCrd(testEnv.cluster(), crd);
    await pool();
    await testEnv.reconcile();
    await testEnv.nodes({ name: 'after', ...VALUES });
    await testEnv.reconcile();
    assert.deepEqual(await kept('after'), ['after']);
  });

  test(`a node that joins a pool unknown to the earlier operator keeps its values (CRD: ${crd})`, async () => {
    await useCrd(testEnv.cluster(), crd);
    await testEnv.pool('worker', { taints: [TAINT], labels: OURS });
    await testEnv.reconcile();
    await testEnv.nodes({ name: 'after', ...VALUES });
    await testEnv.reconcile();
    assert.deepEqual(await kept('after'), ['after']);
  });

  test(`the next run completes an interrupted takeover (CRD: ${crd})`, async () => {
    await useCrd(testEnv.cluster(), crd);
    await pool('a', 'b');
    const { cluster } = await testEnv.connection();
    let writes = 0;
    const patchNode: NodesClient['patch'] = async (...args) => {
      if (writes++ > 0) throw new NodepoolError('cluster', 'no connection', undefined, { isGeneral: true });
      return cluster.nodes.patch(...args);
    };
    await testEnv.reconcileWith(override(cluster, { nodes: { patch: patchNode } }));
    assert.equal(writes, 2);
    assert.equal((await testEnv.getPool('worker'))?.metadata.annotations?.[TAKEOVER_ANNOTATION], 'started');
    await testEnv.reconcile();
    assert.equal((await testEnv.getPool('worker'))?.metadata.annotations?.[TAKEOVER_ANNOTATION], 'finished');
    assert.deepEqual(await kept('a', 'b'), []);
  });
}

test('does not repeat the takeover of a pool with records when the CRD drops fields', async () => {
  await useCrd(testEnv.cluster(), 'earlier schema');
  await pool('before', 'after');
  const record = JSON.stringify({
    pool: 'worker',
    labels: OURS,
    taints: { 'node-pool.lailin.xyz:NoSchedule': 'worker' },
  });
  await testEnv.patchNode('before', { metadata: { annotations: { [RECORD_ANNOTATION]: record } } });
  await testEnv.reconcile();
  assert.deepEqual(await kept('before', 'after'), ['after']);
});
