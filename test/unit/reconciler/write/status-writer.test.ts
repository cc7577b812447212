/** The status of a pool, on a server where others write and delete too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError, warningText } from '../../../../src/nodepool/errors.ts';
import type { NodePool, NodePoolStatus } from '../../../../src/nodepool/types.ts';
import {
  droppedFields,
  lackingFields,
  lackingWarning,
  STATUS_SUBRESOURCE,
} from '../../../../src/reconciler/write/status-writer.ts';
import { begin, going, MOVE, pool, ready, recreated, sent, written } from '../fake-status-server.ts';

test('writes and stores a status that differs', async () => {
  const { server, state, write } = begin();
  const { status, statusWritten, isWritten, lacking, failures } = await write();
  assert.deepEqual([status?.status, status?.nodeCount, status?.observedGeneration], [200, 0, 1]);
  assert.deepEqual([statusWritten, isWritten, lacking, failures], [true, true, [], []]);
  assert.deepEqual(server.live?.status, status);
  assert.equal(state.pool('worker'), server.live);
  assert.deepEqual(server.requests, ['patch']);
});

test('does not write an equal status', async () => {
  const { live, server, write } = await written();
  const { status, statusWritten, isWritten } = await write();
  assert.deepEqual([status, statusWritten, isWritten], [live.status, false, true]);
  assert.deepEqual(server.requests, []);
});

test('reads the pool after node writes unless caches watch it', async () => {
  for (const [now, hasStatus] of [
    [undefined, false],
    [recreated, false],
    [going, false],
    ['same', true],
  ] as const) {
    const { live, server, write } = await written();
    server.live = now === 'same' ? live : now;
    const { status, statusWritten } = await write({}, [MOVE]);
    assert.deepEqual([status !== undefined, statusWritten, server.requests], [hasStatus, false, ['get']]);
  }
  const { live, server, write } = await written();
  assert.deepEqual((await write({}, [MOVE], true)).status, live.status);
  assert.deepEqual(server.requests, []);
});

test('skips the status of a deleted, recreated or terminating pool, without a failure', async () => {
  for (const now of [undefined, recreated, going]) {
    const { server, write } = begin();
    server.live = now;
    const { status, statusWritten, isWritten, failures, lacking } = await write();
    assert.deepEqual([status, statusWritten, isWritten, failures, lacking], [undefined, false, true, [], []]);
    assert.deepEqual(server.requests, ['patch', 'get']);
  }
  const { server, write } = begin();
  server.before = () => ({ kind: 'written', pool: going });
  assert.equal((await write()).status, undefined, 'the answer to the write tells it too');
});

test('reports fields that the CRD drops', async () => {
  const { server, write } = begin();
  server.prune = ({ observedGeneration: _, ...kept }) => kept;
  const { lacking, isWritten } = await write();
  assert.deepEqual([lacking, isWritten], [['status.observedGeneration'], true]);
});

test('reports a CRD without the status subresource when an existing pool returns 404', async () => {
  const { server, write } = begin();
  server.before = request => (request === 'patch' ? { kind: 'gone' } : undefined);
  const { lacking, isWritten, failures } = await write();
  assert.deepEqual([lacking, isWritten], [['subresources.status'], false]);
  assert.match(failures[0]?.message ?? '', /^cannot patch the status of NodePool "worker": .* no status subresource$/);
});

test('reports dropped spec fields instead of a refusal, but keeps other refusals', async () => {
  const said = async (error: NodepoolError, live: NodePool) => {
    const { server, write } = begin(live);
    server.before = request => {
      if (request === 'patch') throw error;
      return undefined;
    };
    const { failures } = await write();
    return [failures[0]?.message, server.requests.length];
  };
  const invalid = new NodepoolError('cluster', 'the test failed');
  const away = new NodepoolError('cluster', 'the server is away', undefined, { isTransient: true });
  const general = new NodepoolError('cluster', 'no credentials', undefined, { isGeneral: true });
  const dropped = { ...pool, dropped: ['taints'] };
  const left =
    'pool worker is not changed: the installed CRD drops spec.taints, or an earlier write under such a CRD dropped it';
  assert.deepEqual(await said(invalid, dropped), [left, 2]);
  assert.deepEqual(await said(invalid, pool), ['the test failed', 2]);
  assert.deepEqual(await said(away, dropped), ['the server is away', 1]);
  assert.deepEqual(await said(general, dropped), ['no credentials', 1]);
});

test('reports no write when the server stores the old status', async () => {
  const { server, write } = begin();
  server.before = request => (request === 'patch' ? { kind: 'written', pool } : undefined);
  assert.equal((await write()).statusWritten, false);
});

test('returns a refusal when the pool cannot be read, and rethrows bugs', async () => {
  const { server, write } = begin();
  server.before = request => {
    throw new NodepoolError('cluster', `cannot ${request}`);
  };
  const { failures } = await write();
  assert.equal(failures[0]?.message, 'cannot patch');
  server.before = () => {
    throw new TypeError('a bug');
  };
  await assert.rejects(write(), TypeError);
});

const { reason: _reason, ...bare } = ready;

for (const [name, kept, expected] of [
  ['all is kept', sent, []],
  ['the server adds a field', { ...sent, podCount: 3 }, []],
  [
    'the server drops everything',
    undefined,
    ['status.status', 'status.nodeCount', 'status.allocatable', 'status.observedGeneration', 'status.conditions'],
  ],
  ['a field', { ...sent, observedGeneration: undefined }, ['status.observedGeneration']],
  ['the server drops the resources, reported as one field', { ...sent, allocatable: {} }, ['status.allocatable']],
  ['a field of another type', { ...sent, allocatable: 'x' as never }, ['status.allocatable']],
  ['items of another type', { ...sent, conditions: ['x'] as never }, ['status.conditions[]']],
  ['a field of an item', { ...sent, conditions: [bare] }, ['status.conditions[].reason']],
  ['missing list items, which no schema drops', { ...sent, conditions: [] }, []],
  ['a single missing resource, which no schema drops', { ...sent, allocatable: { cpu: '1' } }, []],
] as [string, NodePoolStatus | undefined, string[]][]) {
  test(`finds status fields that the response lacks: ${name}`, () => {
    assert.deepEqual(lackingFields(sent, kept), expected);
  });
}

test('names the next step', () => {
  assert.equal(
    warningText(lackingWarning(['status.b', 'status.a', 'status.b'])),
    'the CRD nodepools.nodes.lailin.xyz is from another version and drops status.a, status.b; next: run `kubectl nodepool install`',
  );
  assert.match(warningText(lackingWarning([STATUS_SUBRESOURCE])), /serves no status subresource/);
});

test('does not list a missing status subresource as a dropped field', () => {
  assert.deepEqual(droppedFields(['status.a', 'subresources.status', 'status.b']), ['status.a', 'status.b']);
});
