import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeMove } from '../../../../src/reconciler/plan/node-move.ts';
import { MoveRecorder } from '../../../../src/reconciler/write/move-recorder.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aPool } from '../../nodepool/fixtures.ts';

const move = (node: string, from: string | undefined, to: string): NodeMove => ({ node, from, to, changes: [] });

function create() {
  const clock = new FakeClock();
  const reported: string[] = [];
  const gone = new Set<string>();
  const recorder = new MoveRecorder({
    clock,
    poolOf: name => (gone.has(name) ? undefined : aPool({}, { name })),
    record: ({ metadata: { name } }, { note }) => reported.push(`${name}: ${note}`),
  });
  return { clock, reported, recorder, gone };
}

test('reports the effects of many reconciles on one pool at once, then once a second', async () => {
  const { clock, reported, recorder } = create();
  for (let at = 10; at < 40; at++) {
    recorder.add([move(`n${at}`, 'big', `p${at}`)]);
    await clock.advance(50);
  }
  await clock.advance(5_000);
  const ofBig = reported.filter(note => note.startsWith('big: '));
  assert.deepEqual(
    ofBig.map(note => note.slice(0, 30)),
    ['big: 1 node left: n10', 'big: 19 nodes left: n11, n12, ', 'big: 10 nodes left: n30, n31, '],
  );
  assert.equal(reported.filter(note => /^p\d\d: 1 node joined: n\d\d$/.test(note)).length, 30);
  assert.equal(clock.pending, 0);
  recorder.add([move('late', undefined, 'big')]);
  assert.equal(reported.at(-1), 'big: 1 node joined: late');
});

test('flush() reports what is queued, once', async () => {
  const { clock, reported, recorder } = create();
  recorder.add([move('a', undefined, 'p')]);
  recorder.add([move('b', undefined, 'p')]);
  recorder.add([move('b', 'p', 'p'), move('c', undefined, 'p')]);
  assert.deepEqual(reported, ['p: 1 node joined: a']);
  recorder.flush();
  assert.deepEqual(reported, ['p: 1 node joined: a', 'p: 2 nodes joined: b, c']);
  await clock.advance(5_000);
  assert.equal(reported.length, 2);
});

test('reports what is queued for a pool that is deleted in the meantime, and nothing for one deleted before', async () => {
  const { clock, reported, recorder, gone } = create();
  recorder.add([move('a', undefined, 'p')]);
  recorder.add([move('b', undefined, 'p')]);
  gone.add('p');
  recorder.add([move('c', 'p', 'q')]);
  await clock.advance(5_000);
  assert.deepEqual(reported, ['p: 1 node joined: a', 'q: 1 node joined: c', 'p: 1 node joined: b']);
  assert.equal(clock.pending, 0);
});
