/** What a membership change does to a node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelsToJoin, labelsToLeave } from '../../../src/nodepool/member-labels.ts';
import type { NodePool } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/cluster-state.ts';
import { type MembershipChange, planMembershipChange } from '../../../src/reconciler/membership-change.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const a = aPool({ nodeSelector: { team: 'a' }, labels: { tier: 'gold' } }, { name: 'a' });
const b = aPool({ nodeSelector: { team: 'b' }, labels: { tier: 'silver' } }, { name: 'b' });
const inA = aNode({
  labels: { team: 'a', tier: 'gold' },
  record: recordOf({ pool: 'a', labels: { tier: 'gold' } }),
});

const moveTo = (pool: NodePool, source?: NodePool): MembershipChange => ({
  pool: pool.metadata.name,
  to: pool.metadata.name,
  labels: (node, ownership) => labelsToJoin(node, ownership.record, pool, source),
});
const outOf = (pool: NodePool): MembershipChange => ({
  pool: pool.metadata.name,
  to: undefined,
  labels: node => labelsToLeave(node, pool, [], true),
});

test('between pools that select by one key, its value changes', () => {
  const plan = planMembershipChange(new ClusterState([a, b], [inA], []), 'n1', moveTo(b, a));
  assert.deepEqual(plan?.patch?.labels, { team: 'b', tier: 'silver' });
  assert.deepEqual(plan?.changes, [
    { kind: 'label', key: 'team', action: 'change', from: 'a', to: 'b', reason: 'membership' },
    { kind: 'label', key: 'tier', action: 'change', from: 'gold', to: 'silver', reason: 'spec' },
  ]);
});

test('a node that joins gets the label, and one that leaves loses it', () => {
  const joined = planMembershipChange(new ClusterState([a], [aNode()], []), 'n1', moveTo(a));
  assert.deepEqual(joined?.changes[0], { kind: 'label', key: 'team', action: 'add', to: 'a', reason: 'membership' });
  assert.deepEqual([joined?.previous, joined?.owner], [undefined, 'a']);
  const left = planMembershipChange(new ClusterState([a], [inA], []), 'n1', outOf(a));
  assert.deepEqual(left?.changes[0], {
    kind: 'label',
    key: 'team',
    action: 'remove',
    from: 'a',
    reason: 'membership',
  });
  assert.deepEqual([left?.previous, left?.owner, left?.patch?.record], ['a', undefined, null]);
});

test('a node that has the label already gets what is left to set, and no change of membership', () => {
  const plan = planMembershipChange(new ClusterState([a], [aNode({ labels: { team: 'a' } })], []), 'n1', moveTo(a));
  assert.deepEqual(plan?.patch?.labels, { tier: 'gold' });
  assert.deepEqual(
    plan?.changes.map(({ key }) => key),
    ['tier'],
  );
});

test('a node that nobody knows has no plan', () => {
  assert.equal(planMembershipChange(new ClusterState([a], [], []), 'n1', moveTo(a)), undefined);
});

test('a pool that strips leaves the labels by which others match the node that it gets', () => {
  const strict = aPool({ unmanaged: 'Remove' }, { name: 'strict' });
  const node = aNode({ labels: { team: 'b', other: 'x' } });
  const plan = planMembershipChange(new ClusterState([strict, b], [node], []), 'n1', moveTo(strict));
  assert.deepEqual([plan?.owner, plan?.patch?.labels], ['strict', { ...role('strict'), other: null }]);
});

test('why a pool gets no node comes with the next step', () => {
  const plan = (pool: NodePool) => planMembershipChange(new ClusterState([a, pool], [inA], []), 'n1', moveTo(b, a));
  const going = { ...b, metadata: { ...b.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  assert.throws(() => planMembershipChange(new ClusterState([a], [inA], []), 'n1', moveTo(b, a)), { kind: 'cluster' });
  assert.throws(() => plan(going), { kind: 'input', next: 'choose another pool' });
  const invalid = { ...b, spec: { ...b.spec, handler: 'NO' } };
  assert.throws(() => plan(invalid), { kind: 'input', next: /`kubectl nodepool edit b`/ });
});
