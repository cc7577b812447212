import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilIdle } from '../../../../../src/commands/shared/reconcile/apply.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { emptyOutcome, type PoolOutcome } from '../../../../../src/reconciler/outcome.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { FakeClock } from '../../../controller/fake-clock.ts';
import { aNode, aPool, recordOf, taint } from '../../../nodepool/fixtures.ts';

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
  const clock = new FakeClock();
  const run = untilIdle(['worker'], { reconcile }, { cluster, state, clock } as never);
  await clock.advance(2_000);
  const [result] = await run;
  assert.equal(result?.outcome?.kind, 'interrupted');
  return result?.outcome?.unwritten;
}

test('an interrupted run counts nodes that are still draining, not finished ones', async () => {
  assert.equal(await leftAfter([]), 2);
  assert.equal(await leftAfter(['b']), 1);
  assert.equal(await leftAfter(['a', 'b']), 0);
  assert.equal(await leftAfter(['b'], 3), 3, 'nodes that were not started');
});

/** Reconciles worker with these outcomes, one after the other. */
async function runWith(outcomes: (() => PoolOutcome)[], signal?: AbortSignal) {
  const clock = new FakeClock();
  const state = new ClusterState([pool], [drained('a'), drained('b')], []);
  const cluster = { pools: { getCoerced: async () => pool } };
  const reconcile = async () => (outcomes.shift() ?? assert.fail('reconciled again'))();
  const run = untilIdle(['worker'], { reconcile }, { cluster, state, clock, signal } as never);
  return { run, clock, outcomes };
}

test('reconciles a pool that changed meanwhile again at once, with one result', async () => {
  const warning = (message: string) => [{ message, next: 'x' }];
  const { run } = await runWith([
    () => ({ ...emptyOutcome('worker'), isChanged: true, warnings: warning('first') }),
    () => ({ ...emptyOutcome('worker'), statusWritten: true, warnings: warning('second') }),
  ]);
  const [result] = await run;
  assert.deepEqual(
    [result?.outcome?.warnings.length, result?.outcome?.statusWritten, result?.outcome?.isChanged],
    [2, true, undefined],
  );
});

test('reconciles a pool that keeps changing after growing delays', async () => {
  const changed = () => ({ ...emptyOutcome('worker'), isChanged: true });
  const { run, clock, outcomes } = await runWith([...Array(10).fill(changed), () => emptyOutcome('worker')]);
  await clock.advance(0);
  assert.equal(outcomes.length, 9, 'the second one is at once');
  await clock.advance(100);
  assert.equal(outcomes.length, 6);
  await clock.advance(10_000);
  const [result] = await run;
  assert.deepEqual([outcomes.length, result?.outcome?.kind], [0, 'reconciled']);
});

test('a stopped run does not wait for pods, and reports what is left', async () => {
  const stopping = new AbortController();
  const { run, clock } = await runWith([() => draining], stopping.signal);
  await clock.advance(1_000);
  stopping.abort();
  const [result] = await run;
  assert.deepEqual([result?.outcome?.kind, result?.outcome?.unfinished], ['interrupted', ['a', 'b']]);
});

test('ends the run at an error that is not about the pool', async () => {
  const bug = new TypeError('x is not a function');
  const { run } = await runWith([
    () => {
      throw bug;
    },
  ]);
  await assert.rejects(run, bug);
});

test('reports an error of the second reconcile as an error, not as an interruption', async () => {
  const { run } = await runWith([
    () => ({ ...emptyOutcome('worker'), isChanged: true }),
    () => {
      throw new NodepoolError('cluster', 'pool worker was recreated');
    },
  ]);
  const [result] = await run;
  assert.deepEqual([result?.outcome?.kind, result?.error?.message], ['reconciled', 'pool worker was recreated']);
});

test('with leavesPods, a draining pool waits only as long as other pools do', async () => {
  const other = aPool({ nodeSelector: { team: 'web' } }, { name: 'other' });
  const state = new ClusterState([pool, other], [drained('a'), drained('b')], []);
  const clock = new FakeClock();
  const cluster = { pools: { getCoerced: async (name: string) => state.pool(name) } };
  const otherWaits = [true, true, false];
  const reconcile = async (name: string) =>
    name === 'worker' || otherWaits.shift() ? { ...draining, pool: name } : emptyOutcome(name);
  let isDone = false;
  const options = { cluster, state, clock, timeoutMs: 0, leavesPods: true };
  const run = untilIdle(['worker', 'other'], { reconcile }, options as never).finally(() => {
    isDone = true;
  });
  await clock.advance(2_000);
  assert.equal(isDone, false, 'both wait');
  await clock.advance(4_000);
  const [worker, done] = await run;
  assert.deepEqual([worker?.outcome?.drain, done?.outcome?.drain], [draining.drain, undefined]);
});
