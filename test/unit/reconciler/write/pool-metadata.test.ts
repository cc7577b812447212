import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, NodePoolsClient } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER, type NodePool, TAKEOVER_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { RestoredError } from '../../../../src/reconciler/state/live-reads.ts';
import { writePool } from '../../../../src/reconciler/write/pool-metadata.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';
import { aNodeWriter, reconcilerOptions } from '../reconciler-options.ts';

test('fails without node writes when a policy strips the takeover annotation', async () => {
  const status = { status: 200, nodeCount: 1 } as const;
  const pool = aPool({ labels: { tier: 'gold' } }, { finalizers: [FINALIZER], status });
  const state = new ClusterState(
    [pool],
    [aNode({ labels: { 'node-role.kubernetes.io/worker': '', tier: 'gold' } })],
    [],
  );
  let patches = 0;
  const annotatePool: NodePoolsClient['annotate'] = async (read: NodePool) => {
    patches++;
    return { kind: 'written', pool: { ...read, metadata: { ...read.metadata, resourceVersion: String(patches) } } };
  };
  const cluster = { pools: { annotate: annotatePool, getCoerced: async () => pool } } as unknown as ClusterPort;
  const writer = aNodeWriter(cluster, state);
  await assert.rejects(writer.write('n1'), {
    kind: 'cluster',
    message: `annotation ${TAKEOVER_ANNOTATION} of pool worker was changed by an admission policy or webhook during the write`,
    next: 'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`',
  });
  assert.equal(patches, 1);
});

test('returns the refused write of a pool, but does not hide a restored etcd or a bug', async () => {
  const metadata = { resourceVersion: '20', uid: 'uid-worker' };
  const pool = aPool({}, metadata);
  const refusal = new NodepoolError('cluster', 'a policy refuses it');
  const write = (getCoerced: NodePoolsClient['getCoerced']) => {
    const options = reconcilerOptions({ pools: { getCoerced } } as ClusterPort, new ClusterState([pool], [], []));
    return writePool(pool, () => Promise.reject(refusal), options);
  };
  await assert.rejects(
    write(() => Promise.reject(new NodepoolError('cluster', 'no route'))),
    refusal,
  );
  await assert.rejects(
    write(() => Promise.reject(new TypeError('bug'))),
    TypeError,
  );
  await assert.rejects(
    write(async () => aPool({}, { ...metadata, resourceVersion: '10' })),
    RestoredError,
  );
});
