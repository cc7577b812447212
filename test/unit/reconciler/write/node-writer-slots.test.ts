/** Turns in rollouts that the node writer takes, and gives back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { begin, role } from '../node-server.ts';
import { emptyNodeOutcome } from '../reconciler-options.ts';

test('frees the slot in the first pool when a node moves between two attempts', async () => {
  const spec = { labels: { tier: '2' }, rollout: { maxConcurrent: 1, settleSeconds: 60 } };
  const worker = aPool(spec, { finalizers: [FINALIZER] });
  const other = aPool(spec, { name: 'other', uid: 'uid-other', finalizers: [FINALIZER] });
  const memberOf = (pool: string, tier: string) => ({
    labels: { ...role(pool), tier },
    record: recordOf({ pool, labels: { tier } }),
  });
  const { server, state, writer } = begin(aNode(memberOf('worker', '1')), [worker, other]);
  server.onPatch = attempt => {
    if (attempt > 1) return undefined;
    server.change(memberOf('other', '1'));
    return { kind: 'conflict' };
  };
  await writer.write('n1');
  assert.equal(server.live?.labels.tier, '2');
  // It comes back, as the pool has it.
  server.change(memberOf('worker', '2'));
  if (server.live !== undefined) state.setNode(server.live);
  assert.equal(writer.gates.rollouts.computeStep('worker')?.settling, 0);
});

test('a pool looks again when the call of another pool has the slot, as that write may fail', async () => {
  const spec = { labels: { tier: '2' }, rollout: { maxConcurrent: 1, settleSeconds: 0 } };
  const worker = aPool(spec, { finalizers: [FINALIZER] });
  const other = aPool(spec, { name: 'other', uid: 'uid-other', finalizers: [FINALIZER] });
  const memberOf = (pool: string) => ({
    labels: { ...role(pool), tier: '1' },
    record: recordOf({ pool, labels: { tier: '1' } }),
  });
  const { server, writer } = begin(aNode(memberOf('worker')), [worker, other]);
  const outcome = emptyNodeOutcome();
  let second: Promise<unknown> | undefined;
  server.onPatch = attempt => {
    if (attempt === 1) {
      server.change(memberOf('other'));
      return { kind: 'conflict' };
    }
    second = writer.apply('other', outcome);
    throw new NodepoolError('cluster', 'refused');
  };
  const failed = emptyNodeOutcome();
  await writer.apply('worker', failed);
  await second;
  assert.deepEqual([failed.failures.length, outcome.failures, outcome.retryAfterMs], [1, [], 1_000]);
  assert.deepEqual(writer.gates.rollouts.computeStep('other')?.next, ['n1'], 'the slot is free then');
});
