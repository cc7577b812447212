import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilDrained } from '../../../../src/operations/reconcile/until-drained.ts';
import { ClusterState } from '../../../../src/reconciler/cluster-state.ts';
import { emptyOutcome, type PoolOutcome } from '../../../../src/reconciler/pool-outcome.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';

const pool = aPool({
  nodeSelector: { team: 'ml' },
  noExecute: 'Drain',
  taints: [taint('dedicated=x:NoExecute')],
});
const labels = { team: 'ml' };
const drained = (name: string) =>
  aNode({
    name,
    uid: name,
    labels,
    taints: [taint('dedicated=x:NoSchedule')],
    record: recordOf({
      pool: 'worker',
      taints: { 'dedicated:NoSchedule': 'x' },
      draining: { 'dedicated:NoExecute': 'x' },
    }),
  });
const done = (name: string) =>
  aNode({
    name,
    uid: name,
    resourceVersion: '8',
    labels,
    taints: [taint('dedicated=x:NoExecute')],
    record: recordOf({ pool: 'worker', taints: { 'dedicated:NoExecute': 'x' } }),
  });
const draining: PoolOutcome = {
  ...emptyOutcome('worker'),
  drain: { nodes: ['a', 'b'], pods: 1, blocked: undefined, afterMs: 2_000 },
};

/** Two nodes are drained, and the second reconcile is interrupted. @param finished by it, before that */
async function leftAfter(finished: string[], unwritten = 0): Promise<number | undefined> {
  const state = new ClusterState([pool], [drained('a'), drained('b')], []);
  const outcomes = [
    () => draining,
    () => {
      for (const name of finished) state.setNode(done(name));
      return { ...emptyOutcome('worker'), kind: 'interrupted' as const, unwritten };
    },
  ];
  const reconcile = async () => outcomes.shift()?.() ?? assert.fail('reconciled again');
  const cluster = { pools: { getCoerced: async () => pool } };
  const deps = { cluster, state, clock: new FakeClock(), sleep: async () => {} };
  const { outcome } = await untilDrained('worker', { reconcile }, {}, deps as never);
  assert.equal(outcome?.kind, 'interrupted');
  return outcome?.unwritten;
}

test('a run that is interrupted counts the nodes that are still drained, not those that it has just finished', async () => {
  assert.equal(await leftAfter([]), 2);
  assert.equal(await leftAfter(['b']), 1);
  assert.equal(await leftAfter(['a', 'b']), 0);
  assert.equal(await leftAfter(['b'], 3), 3, 'nodes that were not begun');
});
