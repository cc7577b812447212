import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, NodePatch } from '../../../../src/kube/cluster.ts';
import { FINALIZER, type Node, type NodePool } from '../../../../src/nodepool/types.ts';
import { patchedNode } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';
import { planMembershipChange } from '../../nodepool/plan/plan-view.ts';
import { aNodeWriter } from '../reconciler-options.ts';
import { moveTo, outOf } from './membership-changes.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const a = aPool({ labels: { tier: 'a', own: '1' }, taints: [taint('d=a:NoSchedule')] }, { name: 'a' });
const b = aPool({ labels: { tier: 'b' }, taints: [taint('d=b:NoSchedule')] }, { name: 'b', finalizers: [FINALIZER] });
const inA = aNode({
  labels: { ...role('a'), tier: 'a', own: '1' },
  taints: [taint('mine:NoExecute'), taint('d=a:NoSchedule')],
  record: recordOf({ pool: 'a', labels: { tier: 'a', own: '1' }, taints: { 'd:NoSchedule': 'a' } }),
});

const movedPatch: NodePatch = {
  resourceVersion: '7',
  labels: { 'node-role.kubernetes.io/a': null, 'node-role.kubernetes.io/b': '', tier: 'b', own: null },
  taints: [taint('mine:NoExecute'), taint('d=b:NoSchedule')],
  record: recordOf({ pool: 'b', generation: 1, labels: { tier: 'b' }, taints: { 'd:NoSchedule': 'b' } }),
};

test('moves a node with one patch: labels of both pools, removed and added settings, record', () => {
  const plan = planMembershipChange(new ClusterState([a, b], [inA], []), 'n1', moveTo(b, a));
  assert.deepEqual(plan?.patch, movedPatch);
  assert.deepEqual([plan?.previous, plan?.owner, plan?.node], ['a', 'b', inA]);
  assert.deepEqual(
    plan?.changes.map(({ key, action, reason }) => [key, action, reason]),
    [
      ['node-role.kubernetes.io/a', 'remove', 'membership'],
      ['node-role.kubernetes.io/b', 'add', 'membership'],
      ['tier', 'change', 'spec'],
      ['own', 'remove', 'left the pool'],
      ['d', 'change', 'spec'],
    ],
  );
});

test('has nothing left to do after the patch', () => {
  const state = new ClusterState([a, b], [patchedNode(inA, movedPatch)], []);
  assert.deepEqual(state.ownership('n1')?.owner, 'b');
  assert.equal(planMembershipChange(state, 'n1', moveTo(b, a))?.patch, undefined);
});

test('cleans up a leaving node with the same patch', () => {
  const plan = planMembershipChange(new ClusterState([a], [inA], []), 'n1', outOf(a));
  assert.deepEqual(plan?.patch, {
    resourceVersion: '7',
    labels: { 'node-role.kubernetes.io/a': null, tier: null, own: null },
    taints: [taint('mine:NoExecute')],
    record: null,
  });
});

test('releases what an inherited pool owns without a record, or moves it into a record', () => {
  const inherited = aPool(a.spec, { name: 'a', finalizers: [FINALIZER], status: { status: 200, nodeCount: 1 } });
  const { record: _, ...bare } = inA;
  const left = planMembershipChange(new ClusterState([inherited], [bare], []), 'n1', outOf(inherited));
  assert.deepEqual(left?.patch, {
    resourceVersion: '7',
    labels: { 'node-role.kubernetes.io/a': null, tier: null, own: null },
    taints: [taint('mine:NoExecute')],
  });
  const moved = planMembershipChange(new ClusterState([inherited, b], [bare], []), 'n1', moveTo(b, inherited));
  assert.deepEqual(moved?.patch, movedPatch);
});

test('refuses a pool that cannot have nodes', () => {
  const going = { ...b, metadata: { ...b.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  const invalid = { ...b, spec: { handler: 'NO' } };
  const plan = (pools: NodePool[]) => planMembershipChange(new ClusterState(pools, [inA], []), 'n1', moveTo(b, a));
  assert.throws(() => plan([a, going]), { message: 'pool b is being deleted' });
  assert.throws(() => plan([a, invalid]), /pool b gets no nodes while its spec is invalid: spec\.handler: /);
  assert.throws(() => plan([a]), { message: 'pool b was deleted meanwhile' });
});

test('reads and plans again after a conflict, and keeps what someone else set', async () => {
  let live: Node = { ...inA, resourceVersion: '8', labels: { ...inA.labels, new: 'theirs' }, taints: [] };
  const sent: NodePatch[] = [];
  const cluster = {
    nodes: {
      async patch(_name: string, patch: NodePatch) {
        sent.push(patch);
        if (patch.resourceVersion !== live.resourceVersion) return { kind: 'conflict' };
        live = { ...patchedNode(live, patch), resourceVersion: '9' };
        return { kind: 'written', node: live };
      },
      get: async () => live,
    },
  } as unknown as ClusterPort;
  const state = new ClusterState([a, b], [inA], []);
  const changes = new Map([['n1', moveTo(b, a)]]);
  const writer = aNodeWriter(cluster, state, { changes });
  assert.equal(writer.needsWrite('n1'), true);
  const move = await writer.write('n1');
  assert.deepEqual([move?.from, move?.to, sent.length], ['a', 'b', 2]);
  assert.deepEqual(live.labels, { ...role('b'), tier: 'b', new: 'theirs' });
  assert.deepEqual(live.taints, [taint('d=b:NoSchedule')]);
  assert.equal(writer.needsWrite('n1'), false, 'it is carried out once');
});

test('fails without a write when the change is no longer possible', async () => {
  const stolen: Node = { ...inA, resourceVersion: '8', labels: { ...inA.labels, 'node-role.kubernetes.io/b': 'x' } };
  let writes = 0;
  const cluster = {
    nodes: {
      async patch() {
        writes++;
        return { kind: 'conflict' };
      },
      get: async () => stolen,
    },
  } as unknown as ClusterPort;
  const state = new ClusterState([a, b], [inA], []);
  const writer = aNodeWriter(cluster, state, { changes: new Map([['n1', moveTo(b, a)]]) });
  await assert.rejects(writer.write('n1'), /node n1 has the label node-role\.kubernetes\.io\/b=x/);
  assert.equal(writes, 1);
});

test('writes a change once, and does not remove a label that a pool restores', async () => {
  const giver = aPool({ labels: role('a') }, { name: 'giver', finalizers: [FINALIZER] });
  let live: Node = { ...inA, labels: { ...inA.labels, ...role('giver') } };
  let writes = 0;
  const cluster = {
    nodes: {
      async patch(_name: string, patch: NodePatch) {
        live = { ...patchedNode(live, patch), resourceVersion: String(10 + writes++) };
        return { kind: 'written', node: live };
      },
    },
  } as unknown as ClusterPort;
  const state = new ClusterState([{ ...a, metadata: { ...a.metadata, finalizers: [FINALIZER] } }, giver], [live], []);
  const writer = aNodeWriter(cluster, state, { changes: new Map([['n1', outOf(a)]]) });
  await writer.write('n1');
  assert.deepEqual([state.ownership('n1')?.owner, writes], ['giver', 1]);
  assert.equal(live.labels['node-role.kubernetes.io/a'], '');
});
