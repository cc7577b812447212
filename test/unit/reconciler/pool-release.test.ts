/** The order in which a deleted pool is released. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { FINALIZER, type NodePool, type NodePoolStatus } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf, taint } from '../nodepool/fixtures.ts';
import { aReconciler } from './reconciler-options.ts';
import { owned } from './runtime-class-server.ts';

const pool = aPool(
  { handler: 'runc', taints: [taint('dedicated=x:NoSchedule')] },
  { finalizers: [FINALIZER], deletionTimestamp: '2026-01-02T00:00:00Z' },
);

/** @returns the writes of a pool with this member */
async function released(isRefused: boolean): Promise<string[]> {
  const node = aNode({
    labels: { 'node-role.kubernetes.io/worker': '' },
    taints: [taint('dedicated=x:NoSchedule')],
    record: recordOf({ pool: 'worker', taints: { 'dedicated:NoSchedule': 'x' } }),
  });
  const writes: string[] = [];
  const cluster = {
    createEvent: async () => {},
    pools: {
      getCoerced: async () => pool,
      async setFinalizers(of: NodePool, finalizers: string[]) {
        writes.push('finalizer');
        return { kind: 'written', pool: { ...of, metadata: { ...of.metadata, finalizers } } };
      },
      async patchStatus(of: NodePool, status: NodePoolStatus) {
        writes.push(`status ${status.status}`);
        return { kind: 'written', pool: { ...of, status } };
      },
    },
    nodes: {
      serverTime: () => new Date(),
      async patch() {
        if (isRefused) throw new NodepoolError('cluster', 'cannot patch Node "n1": a webhook denied the request');
        writes.push('node');
        return { kind: 'written', node: aNode({ resourceVersion: '8' }) };
      },
    },
    runtimeClasses: {
      async delete() {
        writes.push('RuntimeClass');
        return 'deleted';
      },
    },
  } as unknown as ClusterPort;
  await aReconciler(cluster, new ClusterState([pool], [node], [owned()])).reconcile('worker');
  return writes;
}

test('releases nodes first, then deletes the RuntimeClass, then removes the finalizer', async () => {
  assert.deepEqual(await released(false), ['node', 'RuntimeClass', 'finalizer']);
});

test('keeps the RuntimeClass while a node keeps its taints', async () => {
  assert.deepEqual(await released(true), ['status 500']);
});
