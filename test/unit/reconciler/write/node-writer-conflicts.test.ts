/** Writes of one node with conflicts, deletes, and a pool without finalizer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';
import { drained, pod } from '../drained.ts';
import { begin, fresh, role, worker } from '../node-server.ts';

test('writes a difference with one guarded patch, and reports it', async () => {
  const { server, state, writer } = begin(fresh);
  assert.deepEqual(await writer.write('n1'), {
    node: 'n1',
    from: undefined,
    to: 'worker',
    changes: [{ kind: 'label', key: 'tier', action: 'add', to: 'gold', reason: 'spec' }],
  });
  assert.deepEqual(server.sent, [
    {
      resourceVersion: '7',
      labels: { tier: 'gold' },
      record: recordOf({ pool: 'worker', generation: 1, labels: { tier: 'gold' } }),
    },
  ]);
  assert.equal(state.node('n1'), server.live);
  assert.equal(writer.needsWrite('n1'), false);
  assert.equal(await writer.write('n1'), undefined);
  assert.deepEqual(server.requests, ['patch n1']);
});

test('sends no request for an up-to-date or missing node', async () => {
  const { server, writer } = begin(aNode());
  assert.deepEqual([await writer.write('n1'), await writer.write('nobody')], [undefined, undefined]);
  assert.deepEqual(server.requests, []);
});

test('writes a node once when two callers ask, and reports to the first only', async () => {
  const { server, state, writer } = begin(fresh);
  const first = writer.write('n1');
  assert.equal(await writer.write('n1'), undefined);
  assert.equal(state.node('n1')?.labels.tier, 'gold');
  assert.equal((await first)?.to, 'worker');
  assert.deepEqual(server.requests, ['patch n1']);
  server.change({ labels: role('worker') });
  state.setNode(server.live ?? assert.fail());
  assert.equal((await writer.write('n1'))?.changes.length, 1, 'and the next is written again');
});

/** Whether a call is current: its pool changes with the first write, which is a conflict. */
function untilConflict(server: ReturnType<typeof begin>['server']): () => boolean {
  let isCurrent = true;
  server.onPatch = attempt => {
    if (attempt > 1) return undefined;
    isCurrent = false;
    return { kind: 'conflict' };
  };
  return () => isCurrent;
}

test('writes a node itself when the call that wrote it stopped, as its pool had changed', async () => {
  const { server, writer } = begin(fresh);
  const first = writer.write('n1', untilConflict(server));
  const second = writer.write('n1');
  assert.equal(await first, undefined);
  assert.equal((await second)?.to, 'worker');
  assert.equal(server.live?.labels.tier, 'gold');
  assert.deepEqual(server.requests, ['patch n1', 'get n1', 'patch n1']);
});

test('begins the drain of a node itself when the call that wrote it stopped', async () => {
  const { server, writer, taints } = drained([pod('a')]);
  const first = writer.write('n1', untilConflict(server));
  const second = writer.write('n1');
  assert.equal(await first, undefined);
  assert.equal((await second)?.to, 'worker');
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
});

test('reads and plans again after a conflict, and keeps what others set', async () => {
  const { server, writer } = begin(fresh);
  server.change({ taints: [taint('theirs:NoExecute')], labels: { ...fresh.labels, tier: 'theirs' } });
  const move = await writer.write('n1');
  assert.deepEqual(server.requests, ['patch n1', 'get n1', 'patch n1']);
  assert.deepEqual(server.live?.taints, [taint('theirs:NoExecute')]);
  assert.deepEqual(move?.changes, [
    { kind: 'label', key: 'tier', action: 'change', from: 'theirs', to: 'gold', reason: 'spec' },
  ]);
});

test('reports no write when nothing is left to do after a conflict', async () => {
  const { server, state, writer } = begin(fresh);
  server.change({ labels: {} });
  assert.equal(await writer.write('n1'), undefined);
  assert.deepEqual(server.requests, ['patch n1', 'get n1']);
  assert.equal(state.node('n1'), server.live);
});

test('retries at once after the first conflict, then with growing delays, 50 times at most', async () => {
  const { server, writer } = begin(fresh);
  server.onPatch = () => ({ kind: 'conflict' });
  await assert.rejects(writer.write('n1'), {
    kind: 'cluster',
    message: 'somebody else changed node n1 50 times in a row between read and write',
    next: 'nothing was overwritten; try again later',
  });
  assert.equal(server.sent.length, 50);
  assert.equal(server.slept[0], 0);
  assert.ok(server.slept.every((ms, attempt) => ms >= 0 && ms <= Math.min(2 ** (attempt + 1), 200)));
  assert.ok(server.slept.some(ms => ms > 8));
  server.onPatch = () => undefined;
  assert.equal((await writer.write('n1'))?.to, 'worker', 'it is retried when it is asked for again');
});

test('reports an error without a conflict when pools of a node change at each try', async () => {
  const { server, writer } = begin(fresh);
  writer.gates.next = async () => 'again';
  await assert.rejects(writer.write('n1'), {
    message: 'node n1 was planned 50 times, but the node or its pools changed each time',
    next: 'nothing was overwritten; try again later',
  });
  assert.deepEqual(server.requests, []);
});

test('counts a write that succeeds after many conflicts', async () => {
  const { server, writer } = begin(fresh);
  server.onPatch = attempt => (attempt < 49 ? { kind: 'conflict' } : undefined);
  assert.equal((await writer.write('n1'))?.to, 'worker');
});

test('forgets a node that was deleted before the write or during a conflict', async () => {
  const gone = begin(fresh);
  gone.server.live = undefined;
  assert.equal(await gone.writer.write('n1'), undefined);
  assert.deepEqual([gone.server.requests, gone.state.node('n1')], [['patch n1', 'get n1'], undefined]);

  const going = begin(fresh);
  going.server.onPatch = () => {
    going.server.live = undefined;
    return { kind: 'conflict' };
  };
  assert.equal(await going.writer.write('n1'), undefined);
  assert.deepEqual([going.server.requests, going.state.node('n1')], [['patch n1', 'get n1'], undefined]);
});

test('sets the finalizer of a pool before its first node', async () => {
  const { server, state, writer } = begin(fresh, [aPool({ labels: { tier: 'gold' } })]);
  assert.equal((await writer.write('n1'))?.to, 'worker');
  assert.deepEqual(server.requests, [`finalizers worker: ${FINALIZER}`, 'patch n1']);
  assert.deepEqual(state.pool('worker')?.metadata.finalizers, [FINALIZER]);
});

test('writes no node of a pool that is deleted while it gets the finalizer', async () => {
  const { server, writer } = begin(fresh, [aPool({ labels: { tier: 'gold' } })]);
  server.onFinalizers = () => undefined;
  assert.equal(await writer.write('n1'), undefined);
  assert.deepEqual(server.requests, [`finalizers worker: ${FINALIZER}`, 'get pool worker']);
});

test('needs no finalizer for a node that leaves', async () => {
  const held = aNode({ labels: { tier: 'gold' }, record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }) });
  const { server, writer } = begin(held, [aPool({ labels: { tier: 'gold' } })]);
  const move = await writer.write('n1');
  assert.deepEqual([move?.from, move?.to, server.requests], ['worker', undefined, ['patch n1']]);
});

test('writes what is left after a write, and reports one move from first to last pool', async () => {
  const other = aPool({ labels: { own: '1' } }, { name: 'other', finalizers: [FINALIZER] });
  const inWorker = aNode({
    labels: { ...role('other'), tier: 'gold' },
    record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }),
  });
  const { server, state, writer } = begin(inWorker, [worker, other]);
  server.onPatch = attempt => {
    const edited = { ...other, spec: { labels: { own: '2' } }, metadata: { ...other.metadata, generation: 2 } };
    if (attempt === 1) state.setPool(edited);
    return undefined;
  };
  const move = await writer.write('n1');
  assert.deepEqual([move?.from, move?.to, server.sent.length], ['worker', 'other', 2]);
  assert.deepEqual(
    move?.changes.map(({ key, action, to }) => [key, action, to]),
    [
      ['own', 'add', '1'],
      ['tier', 'remove', undefined],
      ['own', 'change', '2'],
    ],
  );
});

test('reports pools that would move the node back and forth, and writes nothing', async () => {
  const gpu = aPool({ labels: { accelerator: 'nvidia' } }, { name: 'gpu', finalizers: [FINALIZER] });
  const nvidia = aPool({ nodeSelector: { accelerator: 'nvidia' }, labels: role('gpu') }, { name: 'nvidia' });
  const record = recordOf({ pool: 'gpu', labels: { accelerator: 'nvidia' } });
  const { server, writer } = begin(aNode({ labels: { accelerator: 'nvidia' }, record }), [gpu, nvidia]);
  assert.deepEqual([writer.needsWrite('n1'), writer.needsWrite('n1')], [true, true]);
  await assert.rejects(writer.write('n1'), {
    kind: 'cluster',
    message: 'node n1 was not written: the labels of pools gpu, nvidia move nodes to another pool in an endless loop',
    next: 'change the labels or the nodeSelector of one of them',
  });
  assert.deepEqual(server.requests, []);
});

test('sets only NoExecute taints that were confirmed', async () => {
  const evicting = aPool({ taints: [taint('evict=now:NoExecute')] }, { finalizers: [FINALIZER] });
  const refused = begin(fresh, [evicting], {
    consent: new Set(['n1 evict=later:NoExecute', 'n2 evict=now:NoExecute']),
  });
  await assert.rejects(refused.writer.write('n1'), {
    kind: 'cluster',
    next: 'run the command again to see which pods that would evict',
    message:
      'node n1 was changed meanwhile and was not written: it would now get the taint evict=now:NoExecute, which was not shown before',
  });
  assert.deepEqual(refused.server.requests, []);

  const agreed = begin(fresh, [evicting], { consent: new Set(['n1 evict=now:NoExecute']) });
  assert.equal((await agreed.writer.write('n1'))?.to, 'worker');
  const unasked = begin(fresh, [evicting]);
  assert.equal((await unasked.writer.write('n1'))?.to, 'worker');
});
