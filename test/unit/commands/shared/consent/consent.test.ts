/** From a plan to a confirmed one, for every answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  agree,
  type ConsentAnswer,
  NO_CHANGE,
  type Proposal,
  planOrError,
} from '../../../../../src/commands/shared/consent/consent.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { planCluster } from '../../../../../src/reconciler/plan/cluster-plan.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, taint } from '../../../nodepool/fixtures.ts';

const node = aNode({ name: 'a', labels: { 'node-role.kubernetes.io/worker': '' } });
const planWith = (...taints: string[]) =>
  planCluster(new ClusterState([aPool({ taints: taints.map(taint) })], [node], []), { pools: ['worker'] });

/** Proposes the plans in order, and gives the answers in order; returns the last plan too. */
async function agreeing(plans: Proposal['plan'][], answers: ConsentAnswer[]) {
  const proposed: Proposal[] = [];
  const approved: Proposal[] = [];
  const propose = async () => {
    const proposal = { plan: plans[proposed.length] ?? assert.fail('proposed too often') };
    proposed.push(proposal);
    return proposal;
  };
  const agreed = await agree(propose, async proposal => {
    approved.push(proposal);
    return answers[approved.length - 1] ?? assert.fail('asked too often');
  });
  assert.deepEqual(approved, proposed);
  assert.equal(proposed.length, answers.length);
  return { agreed, last: proposed.at(-1) };
}

test('accepts a plan that needs no confirmation, and allows no further NoExecute taint', async () => {
  const { agreed, last } = await agreeing([planWith('d=x:NoExecute', 'e:NoSchedule')], ['clear']);
  assert.equal(agreed?.proposal, last);
  assert.deepEqual(agreed?.consent, new Set(['a d=x:NoExecute']));
});

test('plans again after a yes until nothing is left to confirm, and returns the last plan', async () => {
  const plans = [planWith('d:NoExecute'), planWith('e:NoExecute'), planWith()];
  const { agreed, last } = await agreeing(plans, ['asked', 'asked', 'clear']);
  assert.equal(agreed?.proposal, last);
  assert.deepEqual(agreed?.consent, new Set());
});

test('ends at a no, the first time and after a yes', async () => {
  assert.equal((await agreeing([planWith()], ['declined'])).agreed, undefined);
  assert.equal((await agreeing([planWith(), planWith()], ['asked', 'declined'])).agreed, undefined);
});

test('allows any taint without a question', async () => {
  const { agreed, last } = await agreeing([planWith('d:NoExecute')], ['waived']);
  assert.deepEqual(agreed, { proposal: last, consent: undefined });
});

test('allows any taint when the plan cannot be made', async () => {
  const { agreed, last } = await agreeing([new NodepoolError('cluster', 'no')], ['clear']);
  assert.deepEqual(agreed, { proposal: last, consent: undefined });
});

test('returns a refusal instead of the plan, and rethrows bugs', async () => {
  const refusal = new NodepoolError('cluster', 'no');
  const rejected = (error: Error) => planOrError(() => Promise.reject(error));
  assert.equal(await planOrError(async () => NO_CHANGE), NO_CHANGE);
  assert.equal(await rejected(refusal), refusal);
  await assert.rejects(rejected(new TypeError('bug')), TypeError);
});

test('changes nothing without a plan', () => {
  assert.deepEqual(NO_CHANGE, planCluster(new ClusterState([], [], []), { pools: [] }));
});
