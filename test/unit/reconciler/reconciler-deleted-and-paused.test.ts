/** A pool is deleted and another is paused, in every order: the deleted pool releases its nodes, the paused one gets none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER, type NodePool } from '../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';
import { begin, role } from './node-server.ts';

const GOLD = { labels: { tier: 'gold' } };
const DELETED = { deletionTimestamp: '2026-01-02T00:00:00Z' };
const member = aNode({
  labels: { ...role('worker'), tier: 'gold' },
  record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }),
});

/** Versions of one pool, as the server has them one after the other; undefined: it is gone. */
function version(at: number, { isPaused = false, isDeleted = false, uid = 'uid-worker' } = {}): NodePool {
  const metadata = { uid, finalizers: [FINALIZER], resourceVersion: `${at + 10}`, generation: at + 1 };
  return aPool({ ...GOLD, ...(isPaused ? { paused: true } : {}) }, { ...metadata, ...(isDeleted ? DELETED : {}) });
}

type Version = Parameters<typeof version>[1] | undefined;
const HISTORIES: Record<string, Version[]> = {
  'paused, then deleted': [{}, { isPaused: true }, { isPaused: true, isDeleted: true }, undefined],
  'deleted, then paused': [{}, { isDeleted: true }, { isPaused: true, isDeleted: true }, undefined],
  'paused, deleted and resumed': [
    { isPaused: true },
    { isPaused: true, isDeleted: true },
    { isDeleted: true },
    undefined,
  ],
  'paused, and gone without its finalizer': [{}, { isPaused: true }, undefined],
  'gone, and recreated as a paused pool': [{}, undefined, { isPaused: true, uid: 'uid-2' }],
};

for (const [title, history] of Object.entries(HISTORIES)) {
  for (const hasCaches of [true, false]) {
    test(`${title}, ${hasCaches ? 'with' : 'without'} caches`, async () => {
      const versions = history.map((each, at) => each && version(at, each));
      for (let known = 0; known < versions.length; known++) {
        for (let live = known; live < versions.length; live++) {
          const [stale, current] = [versions[known], versions[live]];
          const { server, state, writer, clock } = begin(member, stale === undefined ? [] : [stale], { hasCaches });
          server.port.pools.getCoerced = async () => current;
          await clock.advance(1_000);
          await writer.write('n1');
          const isReleased = server.live?.record === undefined;
          const isGone = (pool: NodePool | undefined) => pool?.metadata.deletionTimestamp !== undefined || !pool;
          const message = `known: ${JSON.stringify(history[known])}, live: ${JSON.stringify(history[live])}`;
          assert.equal(isReleased, isGone(stale) && isGone(current), message);
          if (current?.spec.paused && !isGone(current)) assert.equal(server.sent.length, 0, message);
          // The cache gets the later ones.
          for (const next of versions.slice(known + 1)) {
            if (next === undefined) state.removePool('worker', 'uid-worker');
            else state.setPool(next);
          }
          const last = versions.at(-1);
          server.port.pools.getCoerced = async () => last;
          writer.gates.gonePools.forget('worker');
          await writer.write('n1');
          if (last === undefined) assert.equal(server.live?.record, undefined, message);
        }
      }
    });
  }
}

test('releases a node, but does not add it to a pool that is paused meanwhile', async () => {
  const next = (paused: boolean) =>
    aPool(
      { labels: { tier: 'next' }, nodeSelector: role('worker'), paused },
      { name: 'next', uid: 'uid-next', finalizers: [FINALIZER], generation: paused ? 2 : 1 },
    );
  const { server, state, writer } = begin(member, [next(false)]);
  server.port.pools.getCoerced = async () => {
    state.setPool(next(true));
    return undefined;
  };
  const move = await writer.write('n1');
  assert.deepEqual([move?.from, move?.to, server.live?.labels], ['worker', undefined, role('worker')]);
});

test('does not release a node when its deleted pool is recreated during the check', async () => {
  for (const isPaused of [true, false]) {
    const { server, state, writer } = begin(member, []);
    server.port.pools.getCoerced = async () => {
      state.setPool(version(5, { isPaused, uid: 'uid-2' }));
      return undefined;
    };
    await writer.write('n1');
    assert.deepEqual([server.sent, server.live?.labels.tier], [[], 'gold']);
  }
});

test('applies a spec that changes while a pool is read', async () => {
  const next = (tier: string, generation: number) =>
    aPool(
      { labels: { tier }, nodeSelector: role('worker') },
      { name: 'next', uid: 'uid-next', finalizers: [FINALIZER], generation },
    );
  const { server, state, writer } = begin(member, [next('old', 1)]);
  server.port.pools.getCoerced = async () => {
    state.setPool(next('new', 2));
    return undefined;
  };
  await writer.write('n1');
  assert.deepEqual(
    server.sent.map(({ labels }) => labels),
    [{ tier: 'new' }],
  );
});
