/** A status write that meets the write of someone else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { begin, MOVE, NOW, pool, written } from '../fake-status-server.ts';

test('reads the pool after a conflict, and keeps conditions of others', async () => {
  const billed = { type: 'Billed', status: 'True', reason: 'X', message: '', lastTransitionTime: NOW } as const;
  const { server, slept, write } = begin();
  server.change({ conditions: [billed as never] });
  const { status, statusWritten } = await write();
  assert.deepEqual([server.requests, slept.length, statusWritten], [['patch', 'get', 'patch'], 1, true]);
  assert.ok(status?.conditions?.some(({ type }) => String(type) === 'Billed'));
  assert.deepEqual(server.live?.status, status);
});

test('writes again after a conflict when only something else changed', async () => {
  const { server, write } = begin();
  server.live = { ...pool, metadata: { ...pool.metadata, labels: { a: 'b' }, resourceVersion: '11' } };
  const { statusWritten, failures } = await write();
  assert.deepEqual([statusWritten, failures, server.requests], [true, [], ['patch', 'get', 'patch']]);
});

test('writes nothing after a conflict when the status is the same', async () => {
  const { live } = await written();
  const { server, write } = begin(live, pool);
  const { status, statusWritten } = await write({}, [MOVE]);
  assert.deepEqual([status, statusWritten], [live.status, false]);
  assert.deepEqual(server.requests, ['patch', 'get']);
});

test('keeps the status of a later spec after a conflict', async () => {
  for (const [observedGeneration, stays] of [
    [1, false],
    [2, true],
  ] as const) {
    const { server, write } = begin();
    server.change({ nodeCount: 9, observedGeneration }, { generation: 2 });
    const { status } = await write();
    assert.deepEqual([status?.nodeCount, server.requests.length], stays ? [9, 2] : [0, 3]);
  }
});

test('fails after ten conflicts, and reports that in the status', async () => {
  const { server, write } = begin();
  server.before = request => {
    if (request === 'patch') server.change({});
    return undefined;
  };
  const { status, statusWritten, isWritten, failures } = await write({ failures: ['an earlier one'] });
  const message = 'cannot write the status of pool worker: somebody else keeps changing the pool';
  assert.deepEqual([isWritten, statusWritten, failures.map(failure => failure.message)], [false, false, [message]]);
  assert.equal(server.requests.filter(request => request === 'patch').length, 10);
  assert.equal(status?.status, 500);
  assert.ok(JSON.stringify(status?.conditions).includes('an earlier one'));
  assert.ok(JSON.stringify(status?.conditions).includes(message));
});

test('treats a refusal after a spec edit as a conflict, and uses the current pool', async () => {
  const edited = { ...pool, spec: { nodeSelector: { kind: 'big' } }, metadata: { ...pool.metadata, generation: 2 } };
  const { server, write } = begin(edited);
  server.before = request => {
    if (request === 'patch' && server.requests.length === 1) throw new NodepoolError('cluster', 'the test failed');
    return undefined;
  };
  const { failures, isWritten, status } = await write();
  assert.deepEqual([isWritten, status?.observedGeneration], [true, 1]);
  assert.match(failures[0]?.message ?? '', /^the spec of pool worker changed during the reconcile/);
  assert.deepEqual(server.requests, ['patch', 'get', 'get', 'patch']);
});

test('does not overwrite a status after a conflict when the CRD drops spec fields', async () => {
  const dropped = { ...pool, dropped: ['nodeSelector'], metadata: { ...pool.metadata, resourceVersion: '12' } };
  const { server, write } = begin(dropped);
  const { failures } = await write();
  assert.match(failures[0]?.message ?? '', /the installed CRD drops spec.nodeSelector/);
  assert.deepEqual(server.requests, ['patch', 'get']);
});

test('a status whose response was lost affects the pool if its event comes after the next reconcile', async () => {
  const { live } = await written();
  const answered = begin(live, live);
  await answered.write({ failures: ['x'] }, [], true);
  const stored = answered.server.live ?? assert.fail();
  const { server, state, write } = begin(live, live);
  const concerned: string[] = [];
  state.observe({ concerned: pools => void concerned.push(...pools), nodeGone() {} });
  server.before = () => {
    throw new NodepoolError('cluster', 'no response', undefined, { isTransient: true });
  };
  assert.equal((await write({ failures: ['x'] }, [], true)).isWritten, false);
  server.before = () => undefined;
  assert.equal((await write({}, [], true)).statusWritten, false, 'the known status is already right');
  state.setPool(stored);
  assert.deepEqual([...new Set(concerned)], ['worker']);
});
