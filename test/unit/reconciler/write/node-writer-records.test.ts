/** Invalid records on nodes are replaced, and reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { type NodeMove, WriteError } from '../../../../src/reconciler/outcome.ts';
import { recordOf } from '../../nodepool/fixtures.ts';
import { begin, fresh, worker } from '../node-server.ts';

const written = recordOf({ pool: 'worker', generation: 1, labels: { tier: 'gold' } });

for (const [record, problem] of [
  ['{', 'not JSON'],
  ['{"pool":"No Name"}', 'without a pool name'],
  ['{"pool":"worker","labels":{"tier":"gold","_/_":"x"}}', 'with 1 labels, taints or annotations that no pool sets'],
] as const) {
  test(`replaces an invalid record, and reports its problem: ${problem}`, async () => {
    const { server, writer } = begin({ ...fresh, record });
    assert.equal((await writer.write('n1'))?.invalidRecord, problem);
    assert.equal(server.live?.record, written);
  });
}

test('removes the invalid record of a node without a pool only when the record names a pool', async () => {
  const named = begin({ ...fresh, labels: {}, record: '{"pool":"gone","labels":{"_/_":"x"}}' });
  assert.equal(
    (await named.writer.write('n1'))?.invalidRecord,
    'with 1 labels, taints or annotations that no pool sets',
  );
  assert.equal(named.server.live?.record, undefined);
  const unnamed = begin({ ...fresh, labels: {}, record: '{' });
  assert.equal(await unnamed.writer.write('n1'), undefined);
  assert.equal(unnamed.server.live?.record, '{');
});

test('reports no problem when it replaces a valid record', async () => {
  const { writer } = begin({ ...fresh, record: recordOf({ pool: 'worker', labels: { tier: 'silver' } }) });
  const move = (await writer.write('n1')) ?? assert.fail();
  assert.equal('invalidRecord' in move, false);
});

test('reports the invalid record that the first of two writes replaced', async () => {
  const { server, state, writer } = begin({ ...fresh, record: '{' });
  server.onPatch = attempt => {
    const spec = { labels: { tier: 'silver' } };
    if (attempt === 1) state.setPool({ ...worker, spec, metadata: { ...worker.metadata, generation: 2 } });
    return undefined;
  };
  const move = await writer.write('n1');
  assert.deepEqual([server.sent.length, move?.changes.length, move?.invalidRecord], [2, 2, 'not JSON']);
});

/** What a call throws when its write fails; with `isLater`, after an earlier write. */
async function thrown(error: unknown, isLater: boolean): Promise<unknown> {
  const { server, state, writer } = begin(fresh);
  server.onPatch = attempt => {
    if (isLater === attempt > 1) throw error;
    state.setPool({ ...worker, spec: {}, metadata: { ...worker.metadata, generation: 2 } });
    return undefined;
  };
  return writer.write('n1').catch((reason: unknown) => reason);
}

test('rethrows an error unchanged, or with the move if the call wrote before', async () => {
  const refused = new NodepoolError('cluster', 'cannot patch Node "n1": forbidden');
  assert.equal(await thrown(refused, false), refused);
  const later = await thrown(refused, true);
  assert.ok(later instanceof WriteError);
  assert.equal(later.message, refused.message);
  assert.deepEqual<[NodeMove['to'], number | undefined]>([later.move?.to, later.retryAfterMs], ['worker', undefined]);
  const bug = new TypeError('a bug');
  assert.equal(await thrown(bug, false), bug);
  assert.equal(await thrown(bug, true), bug, 'a bug is not taken for an error of the cluster');
});

test('reports a patch that got 404 although the node exists', async () => {
  const { server, state, writer } = begin(fresh);
  server.onPatch = () => ({ kind: 'gone' });
  await assert.rejects(writer.write('n1'), {
    kind: 'cluster',
    message: 'cannot patch Node "n1": the server answered "not found", but a read still finds the object',
    next: 'check for a proxy in front of the API server; use -v 8 to see the request and the answer',
  });
  assert.deepEqual([server.requests, state.node('n1')], [['patch n1', 'get n1'], server.live]);
});

test('writes a recreated node as a new node', async () => {
  const { server, state, writer } = begin(fresh);
  server.onPatch = attempt => {
    if (attempt > 1) return undefined;
    server.change({ uid: 'uid-later' });
    return { kind: 'gone' };
  };
  assert.equal((await writer.write('n1'))?.to, 'worker');
  assert.deepEqual(server.requests, ['patch n1', 'get n1', 'patch n1']);
  assert.equal(state.node('n1')?.uid, 'uid-later');
});
