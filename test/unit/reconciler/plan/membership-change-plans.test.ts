/** What a membership change does to a node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueOf } from '../../../../src/nodepool/plan/plan.ts';
import { rolloutHash } from '../../../../src/nodepool/rollout/rollout.ts';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import { nodePlan } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { NodeBirths } from '../../../../src/reconciler/state/node-births.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { planMembershipChange } from '../../nodepool/plan/plan-view.ts';
import { moveTo, outOf } from './membership-changes.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const a = aPool({ nodeSelector: { team: 'a' }, labels: { tier: 'gold' } }, { name: 'a' });
const b = aPool({ nodeSelector: { team: 'b' }, labels: { tier: 'silver' } }, { name: 'b' });
const inA = aNode({
  labels: { team: 'a', tier: 'gold' },
  record: recordOf({ pool: 'a', labels: { tier: 'gold' } }),
});

test('changes the label value between pools that select by the same key', () => {
  const plan = planMembershipChange(new ClusterState([a, b], [inA], []), 'n1', moveTo(b, a));
  assert.deepEqual(plan?.patch?.labels, { team: 'b', tier: 'silver' });
  assert.deepEqual(plan?.changes, [
    { kind: 'label', key: 'team', action: 'change', from: 'a', to: 'b', reason: 'membership' },
    { kind: 'label', key: 'tier', action: 'change', from: 'gold', to: 'silver', reason: 'spec' },
  ]);
});

test('adds the label to a node that joins, and removes it from a node that leaves', () => {
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

test('applies the spec to a node that is added by name, even if its rollout stopped', () => {
  const rolled = { ...a, spec: { ...a.spec, rollout: {} } };
  const stop = { rollout: rolloutHash(rolled), time: '2026-05-01T00:00:00Z', nodes: ['x'] };
  const stopped = { ...rolled, status: { status: 200, nodeCount: 1, stoppedRollouts: [stop] } };
  const births = new NodeBirths(() => new Date('2026-05-02T00:00:00Z'));
  const state = new ClusterState([stopped], [aNode()], [], {}, births);
  const plan = planMembershipChange(state, 'n1', moveTo(stopped));
  assert.deepEqual([plan?.patch?.labels, plan?.kind], [{ team: 'a', tier: 'gold' }, 'write']);
  const matching = new ClusterState([stopped], [aNode({ labels: { team: 'a' } })], [], {}, births);
  assert.deepEqual(dueOf(nodePlan(matching, 'n1'))?.changes, [], 'by its labels it waits');
});

test('plans only missing settings for a node that has the label, without a membership change', () => {
  const plan = planMembershipChange(new ClusterState([a], [aNode({ labels: { team: 'a' } })], []), 'n1', moveTo(a));
  assert.deepEqual(plan?.patch?.labels, { tier: 'gold' });
  assert.deepEqual(
    plan?.changes.map(({ key }) => key),
    ['tier'],
  );
});

test('returns no plan for an unknown node', () => {
  assert.equal(planMembershipChange(new ClusterState([a], [], []), 'n1', moveTo(a)), undefined);
});

test('unmanaged: Remove keeps the labels by which other pools match the node', () => {
  const strict = aPool({ unmanaged: 'Remove' }, { name: 'strict' });
  const node = aNode({ labels: { team: 'b', other: 'x' } });
  const plan = planMembershipChange(new ClusterState([strict, b], [node], []), 'n1', moveTo(strict));
  assert.deepEqual([plan?.owner, plan?.patch?.labels], ['strict', { ...role('strict'), other: null }]);
});

test('explains why a pool gets no node, with the next step', () => {
  const plan = (pool: NodePool) => planMembershipChange(new ClusterState([a, pool], [inA], []), 'n1', moveTo(b, a));
  const going = { ...b, metadata: { ...b.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  assert.throws(() => planMembershipChange(new ClusterState([a], [inA], []), 'n1', moveTo(b, a)), { kind: 'cluster' });
  assert.throws(() => plan(going), { kind: 'input', next: 'use another pool' });
  const invalid = { ...b, spec: { ...b.spec, handler: 'NO' } };
  assert.throws(() => plan(invalid), { kind: 'input', next: /`kubectl nodepool edit b`/ });
});
