/** Membership changes of nodes that were deleted or became up to date before the write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import { FINALIZER, type Node } from '../../../../src/nodepool/types.ts';
import type { MembershipChange } from '../../../../src/reconciler/plan/membership-change.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { aNodeWriter } from '../reconciler-options.ts';

const worker = aPool({ labels: { tier: 'gold' } }, { finalizers: [FINALIZER] });
const joining: MembershipChange = {
  pool: 'worker',
  to: 'worker',
  labels: () => ({ 'node-role.kubernetes.io/worker': '' }),
};
/** No request is expected. */
const cluster = {} as ClusterPort;

function begin(pools: (typeof worker)[], nodes: Node[]) {
  const state = new ClusterState(pools, nodes, []);
  const changes = new Map([['n1', joining]]);
  return aNodeWriter(cluster, state, { changes });
}

test('fails the change of a node that was deleted in the meantime', async () => {
  const writer = begin([worker], []);
  assert.equal(writer.needsWrite('n1'), true);
  await assert.rejects(writer.write('n1'), { kind: 'cluster', message: 'node n1 was deleted meanwhile' });
});

test('has nothing left to do when the pool was deleted as well', async () => {
  const writer = begin([], []);
  assert.equal(await writer.write('n1'), undefined);
  assert.equal(writer.needsWrite('n1'), false);
});

test('does not write a node that is already an up-to-date member', async () => {
  const labels = { 'node-role.kubernetes.io/worker': '', tier: 'gold' };
  const writer = begin([worker], [aNode({ labels, record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }) })]);
  assert.equal(writer.needsWrite('n1'), true, 'it is looked at');
  assert.equal(await writer.write('n1'), undefined);
  assert.equal(writer.needsWrite('n1'), false);
});
