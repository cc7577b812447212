import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from '../../../src/controller/backoff.ts';
import { FakeClock } from './fake-clock.ts';

test('doubles from 0.8 s to between 15 s and 30 s', () => {
  const delays = (random: number) => {
    const backoff = new Backoff({ clock: new FakeClock(), random: () => random });
    return Array.from({ length: 8 }, () => Math.round(backoff.next()));
  };
  assert.deepEqual(delays(0), [800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 15_000]);
  assert.deepEqual(delays(0.999_999), [1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000]);
});

test('starts again at the first delay after a success', () => {
  const backoff = new Backoff({ clock: new FakeClock(), random: () => 0 });
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 800);
});

test('adds jitter of up to 100 %', () => {
  const backoff = new Backoff({ clock: new FakeClock(), random: () => 0.5 });
  assert.deepEqual([backoff.next(), backoff.next()], [1200, 2400]);
});

test('starts again at the first delay 2 min after the last one, and not sooner', () => {
  const clock = new FakeClock();
  const backoff = new Backoff({ clock, random: () => 0 });
  backoff.next();
  backoff.next();
  clock.freeze(1600 + 120_000);
  assert.equal(backoff.next(), 3200);
  clock.freeze(3200 + 120_001);
  assert.equal(backoff.next(), 800);
});
