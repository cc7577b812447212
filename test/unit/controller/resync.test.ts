import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startResync } from '../../../src/controller/resync.ts';
import { FakeClock } from './fake-clock.ts';

function create() {
  const clock = new FakeClock();
  const due: number[] = [];
  let offset = 0;
  const wall = () => new Date(clock.wall().getTime() + offset);
  const pauses: number[] = [];
  const calls = { onInterval: () => due.push(clock.now()), onPause: () => pauses.push(clock.now()) };
  const { detectPause, stop } = startResync({ everyMs: 600_000, clock, wall }, calls);
  /** Sets the wall clock, not the monotonic clock. */
  const setWall = (ms: number) => {
    offset += ms;
  };
  return { clock, due, pauses, detectPause, stop, setWall };
}

test('is due at every interval', async () => {
  const { clock, due, stop } = create();
  await clock.advance(1_800_000);
  assert.deepEqual(due, [600_000, 1_200_000, 1_800_000]);
  stop();
  assert.equal(clock.pending, 0);
});

test('reports a pause as soon as the process continues, and counts from then', async () => {
  const { clock, due, pauses } = create();
  await clock.advance(10_000);
  clock.freeze(20_000);
  await clock.advance(600_000);
  assert.deepEqual([pauses, due], [[30_000], [630_000]]);
});

test('reports a pause to detectPause() before the next tick, once', async () => {
  const { clock, pauses, detectPause } = create();
  await clock.advance(10_000);
  detectPause();
  clock.freeze(20_000);
  detectPause();
  detectPause();
  assert.deepEqual(pauses, [30_000]);
  await clock.advance(10_000);
  assert.deepEqual(pauses, [30_000]);
});

test('reports a pause after the machine slept while its monotonic clock stood still', async () => {
  const { clock, pauses, setWall } = create();
  await clock.advance(10_000);
  setWall(3_600_000);
  await clock.advance(2_000);
  assert.deepEqual(pauses, [11_000]);
});

test('does not treat a late tick or a time of day that is set back as a pause', async () => {
  const { clock, due, pauses, setWall } = create();
  await clock.advance(10_500);
  clock.freeze(4_000);
  setWall(-3_600_000);
  await clock.advance(10_000);
  assert.deepEqual([due, pauses], [[], []]);
});
