import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from '../../../src/controller/backoff.ts';
import { RateLimiter } from '../../../src/controller/rate-limiter.ts';
import { FakeClock } from './fake-clock.ts';

test('back-off doubles from 0.8 s to 30 s', () => {
  const backoff = new Backoff({ clock: new FakeClock(), random: () => 0 });
  const delays = Array.from({ length: 8 }, () => backoff.next());
  assert.deepEqual(delays, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
});

test('after a success the delays begin anew', () => {
  const backoff = new Backoff({ clock: new FakeClock(), random: () => 0 });
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 800);
});

test('jitter adds up to as much again', () => {
  const backoff = new Backoff({ clock: new FakeClock(), random: () => 0.5 });
  assert.deepEqual([backoff.next(), backoff.next()], [1200, 2400]);
});

test('back-off begins anew 2 min after the last delay, and not sooner', () => {
  const clock = new FakeClock();
  const backoff = new Backoff({ clock, random: () => 0 });
  backoff.next();
  backoff.next();
  clock.freeze(1600 + 120_000);
  assert.equal(backoff.next(), 3200);
  clock.freeze(3200 + 120_001);
  assert.equal(backoff.next(), 800);
});

test('a key waits 5 ms, doubling to 1000 s, each key on its own, until it is forgotten', () => {
  const limiter = new RateLimiter();
  const delays = Array.from({ length: 20 }, () => limiter.when('a'));
  assert.deepEqual(delays.slice(0, 5), [5, 10, 20, 40, 80]);
  assert.deepEqual(delays.slice(-3), [655_360, 1_000_000, 1_000_000]);
  assert.equal(limiter.retries('a'), 20);
  assert.equal(limiter.when('b'), 5);
  limiter.forget('a');
  assert.equal(limiter.retries('a'), 0);
  assert.equal(limiter.when('a'), 5);
  for (let failure = 0; failure < 2000; failure++) limiter.when('c');
  assert.equal(limiter.when('c'), 1_000_000);
});
