/** Nodes with more labels or taints than a record holds, in pools with `unmanaged: Remove`: nothing of them is written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { planCluster } from '../../../../src/reconciler/plan/cluster-plan.ts';
import { planMembershipChange } from '../../../../src/reconciler/plan/membership-change.ts';
import { nodePlan } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { begin, role } from '../node-server.ts';

const strict = aPool({ unmanaged: 'Remove', labels: { tier: 'gold' } }, { finalizers: [FINALIZER] });
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'x']));
const refused = {
  kind: 'cluster',
  message:
    'node n1 was not written: what pool worker removes with unmanaged: Remove does not fit into the record (1000 labels, 1000 taints or 163840 bytes)',
  next: 'remove labels or taints from the node, or set unmanaged: Keep',
};

test('retries a node with too many labels for a record each time, without a request', async () => {
  const { server, writer } = begin(aNode({ labels: { ...role('worker'), ...many(1001) } }), [strict]);
  for (let times = 0; times < 2; times++) {
    assert.equal(writer.needsWrite('n1'), true);
    await assert.rejects(writer.write('n1'), refused);
  }
  assert.deepEqual(server.requests, []);
});

test('writes the node once somebody has removed some labels', async () => {
  const { server, state, writer } = begin(aNode({ labels: { ...role('worker'), ...many(1001) } }), [strict]);
  await assert.rejects(writer.write('n1'), refused);
  server.change({ labels: { ...role('worker'), ...many(999) } });
  state.setNode(server.live ?? assert.fail());
  assert.equal((await writer.write('n1'))?.changes.length, 1000);
  assert.deepEqual(server.live?.labels, { ...role('worker'), tier: 'gold' });
});

test('refuses to add a node whose record would be too large, and keeps its labels', async () => {
  const node = aNode({ labels: many(1001) });
  const joining = { pool: 'worker', to: 'worker', labels: () => role('worker') };
  const plan = planMembershipChange(new ClusterState([strict], [node], []), 'n1', joining);
  assert.deepEqual(plan, {
    kind: 'oversized',
    pool: 'worker',
    node,
    owner: undefined,
    previous: undefined,
    isRolloutStep: false,
  });
  const { server, writer } = begin(node, [strict], { changes: new Map([['n1', joining]]) });
  await assert.rejects(writer.write('n1'), refused);
  assert.deepEqual(server.requests, []);
});

test('a restored label does not move a node to a pool whose record would be too large', async () => {
  const next = aPool({ ...strict.spec, nodeSelector: { zone: 'a' } }, { name: 'next', finalizers: [FINALIZER] });
  const record = recordOf({ pool: 'gone', labels: { zone: 'b' }, displaced: { labels: { zone: 'a' } } });
  const node = aNode({ labels: { zone: 'b', ...many(1001) }, record });
  const plan = nodePlan(new ClusterState([next], [node], []), 'n1');
  assert.deepEqual(plan, {
    kind: 'oversized',
    pool: 'next',
    node,
    owner: 'gone',
    previous: 'gone',
    isRolloutStep: false,
  });
  const { server, writer } = begin(node, [next]);
  await assert.rejects(writer.write('n1'), /what pool next removes with unmanaged: Remove does not fit/);
  assert.deepEqual(server.requests, []);
});

test('releases a node whose restored label matches a pool with an invalid spec', async () => {
  const next = aPool({ nodeSelector: { zone: 'a' }, labels: { tier: 'gold' }, handler: 'NO' }, { name: 'next' });
  const record = recordOf({ pool: 'gone', labels: { zone: 'b' }, displaced: { labels: { zone: 'a' } } });
  const { server, writer } = begin(aNode({ labels: { zone: 'b' }, record }), [next]);
  const move = await writer.write('n1');
  assert.deepEqual([move?.from, move?.to, server.live?.labels], ['gone', undefined, { zone: 'a' }]);
  assert.deepEqual(server.requests, ['get pool gone', 'patch n1'], 'the invalid pool gets no finalizer');
});

test('the cluster plan names the node', () => {
  const node = aNode({ labels: { ...role('worker'), ...many(1001) } });
  const { nodes, blocked } = planCluster(new ClusterState([strict], [node], []), { pools: ['worker'] });
  assert.deepEqual([nodes, blocked.map(({ node }) => node)], [[], ['n1']]);
});
