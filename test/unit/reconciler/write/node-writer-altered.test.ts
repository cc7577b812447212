/** A server that alters writes, as mutating admission policies and webhooks do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../src/nodepool/types.ts';
import { WriteError } from '../../../../src/reconciler/outcome.ts';
import type { NodeWriter } from '../../../../src/reconciler/write/node-writer.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { begin, fresh, role, worker } from '../node-server.ts';

const withTier = (tier: string) => (node: Node) => ({ ...node, labels: { ...node.labels, tier } });
const withoutRecord = ({ record: _, ...node }: Node) => node;

/** The error of a write that is refused or altered. */
async function refusal(writer: NodeWriter): Promise<WriteError> {
  const error = await writer.write('n1').catch((error: unknown) => error);
  assert.ok(error instanceof WriteError);
  return error;
}

test('names a label that the server stores with another value, with both values', async () => {
  const { server, state, writer } = begin(fresh);
  server.admit = withTier('silver');
  const { kind, message, next, retryAfterMs, isThrottled } = await refusal(writer);
  assert.deepEqual(
    [kind, message, next],
    [
      'cluster',
      'an admission policy or webhook changed node n1 during the write: label tier was sent with value "gold" and is "silver"',
      'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`, and set the value in only one place',
    ],
  );
  assert.deepEqual([retryAfterMs, isThrottled], [1000, false]);
  assert.deepEqual(server.requests, ['patch n1']);
  assert.equal(state.node('n1'), server.live);
});

test('reports the join of a node without the change that was not stored', async () => {
  const { server, writer } = begin(fresh);
  server.admit = withTier('silver');
  assert.deepEqual((await refusal(writer)).move, { node: 'n1', from: undefined, to: 'worker', changes: [] });
});

test('reports no join of a node whose record was not stored', async () => {
  const { server, writer } = begin(fresh);
  server.admit = withoutRecord;
  const { message, move } = await refusal(writer);
  assert.match(message, /: annotation nodes\.lailin\.xyz\/applied was removed$/);
  assert.equal(move, undefined);
});

test('reports no move of a node that stays in its pool after altered writes', async () => {
  const { server, clock, writer } = begin(fresh);
  server.admit = withTier('silver');
  const moves = [(await refusal(writer)).move?.to];
  for (const ms of [1000, 2000, 4000]) {
    clock.freeze(ms);
    moves.push((await refusal(writer)).move?.to);
  }
  assert.deepEqual(moves, ['worker', undefined, undefined, undefined]);
  assert.equal(server.sent.length, 4);
});

test('repeats an altered write after 1 s, 2 s and 4 s, with no request before', async () => {
  const { server, clock, writer } = begin(fresh);
  server.admit = withTier('silver');
  const first = await refusal(writer);
  for (const ms of [1000, 2000, 4000]) {
    clock.freeze(ms - 1);
    const held = await refusal(writer);
    assert.deepEqual([held.isThrottled, held.retryAfterMs, held.message], [true, 1, first.message]);
    assert.equal(held.move, undefined);
    clock.freeze(1);
    const again = await refusal(writer);
    assert.deepEqual([again.isThrottled, again.retryAfterMs], [false, 2 * ms]);
  }
  assert.deepEqual(server.requests, ['patch n1', 'patch n1', 'patch n1', 'patch n1']);
});

test('restarts the delay at 1 s once a write was stored as sent', async () => {
  const { server, state, clock, writer } = begin(fresh);
  server.admit = withTier('silver');
  await refusal(writer);
  clock.freeze(1000);
  assert.equal((await refusal(writer)).retryAfterMs, 2000);
  server.admit = node => node;
  clock.freeze(2000);
  assert.deepEqual(await writer.write('n1'), {
    node: 'n1',
    from: 'worker',
    to: 'worker',
    changes: [{ kind: 'label', key: 'tier', action: 'change', from: 'silver', to: 'gold', reason: 'drift' }],
  });
  server.change({ labels: role('worker') });
  state.setNode(server.live ?? assert.fail());
  server.admit = withTier('silver');
  assert.equal((await refusal(writer)).retryAfterMs, 1000);
});

test('does not delay another write of an edited pool after an altered one', async () => {
  const { server, state, writer } = begin(fresh);
  server.admit = withTier('silver');
  await refusal(writer);
  server.admit = node => node;
  state.setPool({ ...worker, spec: { labels: { tier: 'bronze' } }, metadata: { ...worker.metadata, generation: 2 } });
  assert.equal((await writer.write('n1'))?.changes[0]?.to, 'bronze');
});

test('writes a membership change once, whatever the server stores', async () => {
  const joining = { pool: 'worker', to: 'worker', labels: () => role('worker') };
  const { server, writer } = begin(aNode(), [worker], { changes: new Map([['n1', joining]]) });
  server.admit = node => withoutRecord({ ...node, labels: {} });
  const { message } = await refusal(writer);
  assert.match(message, /label node-role\.kubernetes\.io\/worker was sent with value "" and removed/);
  assert.equal(writer.needsWrite('n1'), false, 'the node is no member');
  assert.equal(await writer.write('n1'), undefined);
  assert.equal(server.sent.length, 1);
});

test('returns the error even if the node is deleted during its altered write', async () => {
  const { server, state, writer } = begin(fresh);
  server.admit = withTier('silver');
  server.onPatch = () => void state.removeNode('n1', fresh.uid);
  assert.match((await refusal(writer)).message, /label tier was sent with value "gold" and is "silver"$/);
});

test('reports writes before the altered write once, together with its error', async () => {
  const moving = aNode({
    labels: { ...role('worker'), tier: 'old' },
    record: recordOf({ pool: 'other', labels: { tier: 'old' } }),
  });
  const other = aPool({ labels: { tier: 'old' } }, { name: 'other', creationTimestamp: '2026-02-01T00:00:00Z' });
  const { server, state, writer } = begin(moving, [worker, other]);
  server.onPatch = attempt => {
    const spec = { labels: { tier: 'gold', more: 'x' } };
    if (attempt === 1) state.setPool({ ...worker, spec, metadata: { ...worker.metadata, generation: 2 } });
    else server.admit = node => ({ ...node, labels: { ...node.labels, more: 'y' } });
    return undefined;
  };
  const { move } = await refusal(writer);
  assert.deepEqual([move?.from, move?.to], ['other', 'worker']);
  assert.deepEqual(
    move?.changes.map(({ key, to }) => [key, to]),
    [['tier', 'gold']],
  );
});
