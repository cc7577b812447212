/** A node gets at most 10 writes a minute, whatever their cause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER, type NodePool } from '../../../../src/nodepool/types.ts';
import { WriteRateLimiter } from '../../../../src/reconciler/limits/rate-limiters.ts';
import { contestedError } from '../../../../src/reconciler/limits/write-limits.ts';
import { WriteError } from '../../../../src/reconciler/outcome.ts';
import type { NodeWriter } from '../../../../src/reconciler/write/node-writer.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aPool, recordOf } from '../../nodepool/fixtures.ts';
import { begin, fresh, role, worker } from '../node-server.ts';

async function refusal(writer: NodeWriter): Promise<WriteError> {
  const error = await writer.write('n1').catch((error: unknown) => error);
  assert.ok(error instanceof WriteError);
  return error;
}

const tierOf = (pool: NodePool, tier: string, generation: number): NodePool => ({
  ...pool,
  spec: { ...pool.spec, labels: { tier } },
  metadata: { ...pool.metadata, generation },
});

/** One write at 0 s, 1 s, ... 9 s, each for an edit of the pool; at 10 s an 11th edit is due. */
async function edited() {
  const parts = begin(fresh);
  const { state, writer, clock } = parts;
  for (let write = 1; write <= 10; write++) {
    state.setPool(tierOf(worker, `v${write}`, write));
    assert.equal((await writer.write('n1'))?.changes.length, 1);
    clock.freeze(1000);
  }
  state.setPool(tierOf(worker, 'v11', 11));
  return parts;
}

/** One write a second that repairs a foreign change; at 10 s the 11th is due. */
async function contested() {
  const parts = begin(fresh);
  const { server, state, writer, clock } = parts;
  server.fieldManager = 'kubectl-label';
  const drift = () => {
    server.change({ labels: { ...role('worker'), tier: 'theirs' } });
    state.setNode(server.live ?? assert.fail());
  };
  for (let write = 1; write <= 10; write++) {
    await writer.write('n1');
    clock.freeze(1000);
    drift();
  }
  return { ...parts, drift };
}

test('delays the 11th write within a minute for edits of the pool, and names nobody else', async () => {
  const { server, options, writer } = await edited();
  const { kind, message, next, retryAfterMs, isThrottled } = await refusal(writer);
  assert.deepEqual(
    [kind, message, next],
    [
      'cluster',
      'node n1 reached the limit of 10 writes within a minute',
      "wait a minute, and find out what keeps changing the pool or the node's labels",
    ],
  );
  assert.deepEqual([retryAfterMs, isThrottled], [50_000, false]);
  assert.equal(server.requests.length, 10, 'no request of the field manager');
  assert.equal(contestedError('n1', options), undefined);
});

test('sends no request for a node at its limit until it may be written', async () => {
  const { server, clock, writer } = await edited();
  const first = await refusal(writer);
  clock.freeze(49_999);
  const held = await refusal(writer);
  assert.deepEqual([held.message, held.retryAfterMs, held.isThrottled], [first.message, 1, true]);
  assert.equal(server.requests.length, 10);
  clock.freeze(1);
  assert.equal((await writer.write('n1'))?.changes[0]?.to, 'v11');
});

test('names what else changes the node, and waits a minute', async () => {
  const { server, clock, writer } = await contested();
  const { message, next, retryAfterMs, isThrottled } = await refusal(writer);
  assert.deepEqual(
    [message, next],
    [
      'node n1 reached the limit of 10 writes within a minute: something else (field manager kubectl-label) keeps changing label tier from "gold" to "theirs"',
      'stop that writer, or remove the keys that it changes from the pool',
    ],
  );
  assert.deepEqual([retryAfterMs, isThrottled], [59_000, false], 'a minute from the last write');
  assert.deepEqual(server.requests.slice(10), ['manager of n1 metadata.labels.tier']);
  clock.freeze(59_000);
  assert.equal((await writer.write('n1'))?.changes[0]?.to, 'gold');
});

test('fails the pool of a contested node until the node stays unchanged for 10 s', async () => {
  const { server, state, clock, options, writer } = await contested();
  const { message } = await refusal(writer);
  server.change({ labels: { ...role('worker'), tier: 'gold' } });
  state.setNode(server.live ?? assert.fail());
  clock.freeze(4000);
  assert.equal(writer.needsWrite('n1'), false);
  const error = contestedError('n1', options) ?? assert.fail();
  assert.deepEqual([error.message, error.retryAfterMs, error.isThrottled], [message, 5000, true]);
  clock.freeze(5000);
  assert.equal(contestedError('n1', options), undefined);
  assert.equal(contestedError('nobody', options), undefined);
});

test('then writes a contested node once a minute', async () => {
  const { server, clock, writer, drift } = await contested();
  await refusal(writer);
  clock.freeze(59_000);
  await writer.write('n1');
  clock.freeze(1000);
  drift();
  const { retryAfterMs, isThrottled } = await refusal(writer);
  assert.deepEqual([retryAfterMs, isThrottled], [59_000, false]);
  assert.equal(server.sent.length, 11);
});

test('writers of one run share the count', async () => {
  const writeLimiter = new WriteRateLimiter(new FakeClock());
  const [first, second] = [begin(fresh, [worker], { writeLimiter }), begin(fresh, [worker], { writeLimiter })];
  for (let write = 1; write <= 10; write++) {
    first.state.setPool(tierOf(worker, `v${write}`, write));
    await first.writer.write('n1');
  }
  assert.equal((await refusal(second.writer)).retryAfterMs, 60_000);
  assert.deepEqual(second.server.requests, []);
});

test('counts writes of one call, and reports earlier writes with the error', async () => {
  const other = aPool({ labels: { own: '1' } }, { name: 'other', finalizers: [FINALIZER] });
  const record = recordOf({ pool: 'worker', labels: { tier: 'gold' } });
  const leaving = { ...fresh, labels: { ...role('other'), tier: 'gold' }, record };
  const { server, state, writer } = begin(leaving, [worker, other]);
  server.onPatch = attempt => {
    const spec = { labels: { own: String(attempt + 1) } };
    state.setPool({ ...other, spec, metadata: { ...other.metadata, generation: attempt + 1 } });
    return undefined;
  };
  const { move, isThrottled } = await refusal(writer);
  assert.equal(server.sent.length, 10);
  assert.deepEqual([move?.from, move?.to, move?.changes.length, isThrottled], ['worker', 'other', 11, false]);
});
