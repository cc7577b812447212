/** Drains by the node writer: when they list pods, which pods they evict, and what they remember. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { rolloutHash } from '../../../../src/nodepool/rollout/rollout.ts';
import { aNode, recordOf, taint } from '../../nodepool/fixtures.ts';
import { BUDGET, drained, pod, pool } from '../drained.ts';
import { role } from '../node-server.ts';

test('evicts pods after it set the stand-in, and sets the taint when none are left', async () => {
  const { write, on, clock, taints, events } = drained([pod('a'), pod('b'), pod('done', { phase: 'Succeeded' })]);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a', 'evict b']);
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  assert.deepEqual(await write(), [], 'it is not due');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list'], 'they terminate');
  on.delete('a');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list']);
  on.delete('b');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
  assert.deepEqual(events, ['asking ns/a', 'asking ns/b', 'gone ns/a', 'gone ns/b']);
  assert.deepEqual(await write(), []);
});

test('checks an empty node again 2 s after it set the stand-in', async () => {
  const { write, on, clock, taints } = drained([]);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  // Bound by a scheduler that had not seen the stand-in.
  on.set('late', pod('late'));
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'evict late']);
  on.clear();
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
});

test('a node that joins a pool with a rollout gets its taint, also if others set one in place of the stand-in', async () => {
  const by = pool({ rollout: { maxConcurrent: 1 }, unmanaged: 'Remove' });
  const theirs = aNode({ labels: role('worker'), taints: [taint('dedicated=theirs:NoSchedule')] });
  const { write, clock, taints } = drained([], {}, by, theirs);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('lists pods again after a conflict of the last write', async () => {
  const { write, on, clock, server } = drained([]);
  await write();
  await clock.advance(2_600);
  server.onPatch = attempt => {
    if (attempt !== 2) return undefined;
    server.change({ allocatable: { cpu: '2' } });
    on.set('late', pod('late'));
    return { kind: 'conflict' };
  };
  assert.deepEqual(await write(), ['list', 'patch n1', 'get n1', 'list', 'evict late']);
});

test('reports both budgets of a pod as an error, and evicts the other pods', async () => {
  const { write, answers, taints } = drained([pod('a'), pod('b')]);
  answers.set('a', { kind: 'many budgets', budgets: ['one', 'two'] });
  await assert.rejects(write(), {
    message: 'pod ns/a has more than one PodDisruptionBudget, so the server cannot evict it: one, two',
    next: 'keep only one of the PodDisruptionBudgets',
  });
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
});

test('retries a blocked pod after 5 s, and asks once for all similar pods', async () => {
  const pods = ['a', 'b', 'c'].map(name => pod(name, { labels: { app: 'web' } }));
  const { write, answers, clock, events, writer } = drained([
    ...pods,
    pod('free'),
    pod('other', { labels: { app: 'web', pod: '1' } }),
  ]);
  answers.set('a', BUDGET);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a', 'evict free', 'evict other']);
  const state = writer.gates.drainer.entries.stateOf(['n1']);
  assert.equal(
    state.blocked,
    'pod ns/a on node n1 waits for PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
  );
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list'], 'the free one terminates');
  await clock.advance(4_000);
  assert.deepEqual(await write(), ['list', 'evict a']);
  assert.equal(events.filter(event => event === 'blocked ns/a').length, 1);
  answers.clear();
  await clock.advance(6_500);
  assert.deepEqual(await write(), ['list', 'evict a', 'evict b', 'evict c']);
  assert.equal(writer.gates.drainer.entries.stateOf(['n1']).blocked, undefined);
});

test('reports a pod that is blocked for 30 s once for an Event', async () => {
  const { write, answers, clock, writer } = drained([pod('a')]);
  answers.set('a', BUDGET);
  await write();
  const told: string[] = [];
  for (let at = 0; at < 10; at++) {
    await clock.advance(6_500);
    await write();
    told.push(...writer.gates.drainer.entries.takeStuck(['n1']));
  }
  assert.deepEqual(told, [
    'pod ns/a on node n1 waits for PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
  ]);
});

test('does not report a blocked pod again after the rollout turn of its node ended', async () => {
  const rolled = pool({ rollout: { settleSeconds: 600 } });
  const node = aNode({ labels: role('worker'), record: '{"pool":"worker"}' });
  const { write, answers, clock, state, writer } = drained([pod('a')], {}, rolled, node);
  answers.set('a', BUDGET);
  const told: string[] = [];
  const look = async () => {
    await clock.advance(40_000);
    // As each reconcile does.
    writer.gates.rollouts.computeStep('worker');
    await write();
    told.push(...writer.gates.drainer.entries.takeStuck(['n1']));
  };
  await write();
  await look();
  assert.equal(told.length, 1);
  const changed = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const taints = { 'dedicated:NoExecute': 'x' };
  const record = recordOf({ pool: 'worker', taints, changed, rollout: rolloutHash(rolled) });
  const other = { name: 'n2', uid: 'uid-n2', labels: role('worker'), taints: rolled.spec.taints ?? [], record };
  state.setNode(aNode({ ...other, ready: false, readySince: Math.floor(Date.now() / 1000) - 30 }));
  await clock.advance(40_000);
  assert.deepEqual(await write(), [], 'the rollout has stopped');
  state.removeNode('n2', 'uid-n2');
  await look();
  await look();
  assert.equal(told.length, 1);
});

test('evicts pods that would return last, and sets the taint while they terminate', async () => {
  const tolerations = [{ operator: 'Exists', effect: 'NoSchedule' }];
  const agent = pod('agent', { placement: { nodeSelector: {}, nodeTerms: undefined, tolerations } });
  const { write, on, clock, taints } = drained([agent, pod('a')]);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  on.delete('a');
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'evict agent', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('an eviction error stops no other pod, and fails the node until the next try', async () => {
  const forbidden = new NodepoolError('cluster', 'cannot evict', 'ask', { isPermanent: true });
  const { write, answers, clock, calls, writer } = drained([pod('a'), pod('b')]);
  answers.set('a', forbidden);
  await assert.rejects(write(), { message: 'cannot evict', isThrottled: false, retryAfterMs: 30_000 });
  assert.deepEqual(calls, ['patch n1', 'list', 'evict a', 'evict b']);
  assert.deepEqual(writer.gates.drainer.entries.stateOf(['n1']).afterMs, undefined, 'it is a failure');
  await clock.advance(10_000);
  await assert.rejects(write(), { message: 'cannot evict', isThrottled: true, retryAfterMs: 20_000 });
  assert.deepEqual(calls, []);
  answers.clear();
  await clock.advance(20_000);
  assert.deepEqual(await write(), ['list', 'evict a']);
});

test('a dry run evicts nothing, and ends with the taint', async () => {
  const { write, taints, server } = drained([pod('a')]);
  Object.assign(server.port, { isDryRun: true });
  assert.deepEqual(await write(), ['patch n1', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('does not trust a list until the restored stand-in is seen again', async () => {
  const { write, clock, server, state, taints } = drained([]);
  await write();
  await clock.advance(2_600);
  server.change({ taints: [] });
  if (server.live !== undefined) state.setNode(server.live);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  await clock.advance(2_600);
  assert.deepEqual(await write(), ['list', 'patch n1']);
});
