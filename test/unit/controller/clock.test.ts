import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep, systemClock } from '../../../src/controller/clock.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

test('sleep() ends after its time, and not before', async () => {
  const clock = new FakeClock();
  let woke = false;
  sleep(clock, 100).then(() => {
    woke = true;
  });
  await clock.advance(99);
  assert.equal(woke, false);
  await clock.advance(1);
  assert.equal(woke, true);
});

test('an abort ends sleep() at once and leaves no timer', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const asleep = sleep(clock, 100, stop.signal);
  await flushPromises();
  stop.abort();
  await asleep;
  assert.equal(clock.pending, 0);
  await sleep(clock, 100, stop.signal);
  assert.equal(clock.pending, 0);
});

test('the system clock waits for times that are too long for setTimeout', async () => {
  let called = false;
  const cancel = systemClock.after(30 * 24 * 3_600_000, () => {
    called = true;
  });
  await sleep(systemClock, 20);
  cancel();
  assert.equal(called, false);
});
