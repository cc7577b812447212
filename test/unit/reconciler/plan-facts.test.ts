/** What is remembered of a plan is the plan's, and forgotten with every change that could change the plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodePool, NodePoolSpec } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/cluster-state.ts';
import { differs, isDue, mayWait, planOf, repairOf, waitsForTurn } from '../../../src/reconciler/node-plan.ts';
import { factsOf } from '../../../src/reconciler/plan-facts.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';
import { role } from './node-server.ts';

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

/** As without a memory: a new state has no plans. */
function asPlanned(known: ClusterState, name: string) {
  const state = new ClusterState(known.pools(), known.nodes(), known.runtimeClasses());
  const plan = planOf(state, name);
  assert.ok(plan);
  assert.deepEqual(planOf(known, name), plan);
  const waits = waitsForTurn(plan);
  return {
    isDue: isDue(plan),
    hasPatch: plan.patch !== undefined,
    isStep: plan.isRollout === true,
    waits,
    hasRepair: waits && repairOf(state, name)?.patch !== undefined,
    differs: differs(plan),
    mayWait: mayWait(plan),
  };
}

const changes: { title: string; make: (state: ClusterState) => void; due: boolean; step: boolean; repair?: boolean }[] =
  [
    { title: 'a node that is up to date', make() {}, due: false, step: false },
    { title: 'a new spec', make: state => state.setPool(pool(silver)), due: true, step: false },
    { title: 'spec.rollout', make: state => state.setPool(pool({ ...silver, rollout })), due: true, step: true },
    { title: 'drift meanwhile', make: state => state.setNode(node('drift')), due: true, step: true, repair: true },
    {
      title: 'a pause',
      make: state => state.setPool(pool({ ...silver, rollout, paused: true })),
      due: false,
      step: true,
      repair: true,
    },
    {
      title: 'the node as it should be',
      make: state => state.setNode(node('silver', 'silver')),
      due: false,
      step: false,
    },
    { title: 'the earlier spec', make: state => state.setPool(pool({ ...gold, rollout })), due: true, step: true },
    {
      title: 'another pool that is gone',
      make: state => state.removePool('worker', state.pool('worker')?.metadata.uid),
      due: true,
      step: false,
    },
  ];

test('facts follow each change of the node and of the pool', () => {
  const state = new ClusterState([pool(gold)], [node('gold')], []);
  const { name } = node('gold');
  for (const { title, make, due, step, repair = false } of changes) {
    make(state);
    // The second answer is the remembered one.
    for (const facts of [factsOf(state, name), factsOf(state, name)]) {
      assert.deepEqual(facts, asPlanned(state, name), title);
      assert.deepEqual([facts.isDue, facts.isStep, facts.hasRepair], [due, step, repair], title);
    }
  }
  assert.equal(factsOf(state, 'unknown').isDue, false);
});

test('a node that is written at once is planned once, one that waits for its turn is not remembered', () => {
  for (const [spec, isOnce] of [
    [silver, true],
    [{ ...silver, rollout }, false],
  ] as const) {
    const state = new ClusterState([pool(spec)], [node('gold')], []);
    const { name } = node('gold');
    const [first, again] = [planOf(state, name), planOf(state, name)];
    assert.equal(first === again, isOnce);
    state.setPool(pool(gold));
    assert.equal(planOf(state, name)?.patch, undefined);
  }
});
