/** A plan is cached until something changes that the plan depends on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePlan } from '../../../../src/nodepool/plan/plan.ts';
import type { Node, NodePool, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { nodePlan } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { role } from '../node-server.ts';

const gold = { labels: { tier: 'gold' } };
const silver = { labels: { tier: 'silver' } };
const rollout = { maxConcurrent: 1 };

let version = 1;
const pool = (spec: Partial<NodePoolSpec>): NodePool =>
  aPool(spec, { generation: ++version, resourceVersion: String(version) });
const node = (tier: string, applied = 'gold'): Node =>
  aNode({
    labels: { ...role('worker'), tier },
    record: recordOf({ pool: 'worker', labels: { tier: applied } }),
    resourceVersion: String(++version),
  });

const changes: { title: string; make: (state: ClusterState) => void; kind: NodePlan['kind']; repairs?: boolean }[] = [
  { title: 'a node that is up to date', make() {}, kind: 'same' },
  { title: 'a new spec', make: state => state.setPool(pool(silver)), kind: 'write' },
  { title: 'spec.rollout', make: state => state.setPool(pool({ ...silver, rollout })), kind: 'rollout step' },
  { title: 'drift meanwhile', make: state => state.setNode(node('drift')), kind: 'rollout step', repairs: true },
  { title: 'a pause', make: state => state.setPool(pool({ ...silver, rollout, paused: true })), kind: 'paused' },
  { title: 'the node as it should be', make: state => state.setNode(node('silver', 'silver')), kind: 'same' },
  { title: 'the earlier spec', make: state => state.setPool(pool({ ...gold, rollout })), kind: 'rollout step' },
  {
    title: 'another pool that is gone',
    make: state => state.removePool('worker', state.pool('worker')?.metadata.uid),
    kind: 'write',
  },
];

test('recomputes a plan only when the node or the pool changes', () => {
  const state = new ClusterState([pool(gold)], [node('gold')], []);
  const { name } = node('gold');
  for (const { title, make, kind, repairs = false } of changes) {
    make(state);
    const plan = nodePlan(state, name);
    assert.equal(nodePlan(state, name), plan, title);
    // A new state has no plans.
    assert.deepEqual(nodePlan(new ClusterState(state.pools(), state.nodes(), []), name), plan, title);
    assert.deepEqual(
      [plan?.kind, plan?.kind === 'rollout step' && plan.meanwhile !== undefined],
      [kind, repairs],
      title,
    );
  }
  assert.equal(nodePlan(state, 'unknown'), undefined);
});
