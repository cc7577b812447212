import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defaultRateLimiter, ExponentialDelay, MaxOf, TokenBucket } from '../../../src/controller/work-queue.ts';
import { FakeClock } from './fake-clock.ts';

describe('exponential delay per key', () => {
  test('doubles with each failure of a key up to the maximum, until forget()', () => {
    const limiter = new ExponentialDelay(1, 1000);
    const delays = Array.from({ length: 12 }, () => limiter.when('a'));
    assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
    assert.equal(limiter.retries('a'), 12);
    assert.deepEqual([limiter.when('b'), limiter.when('b'), limiter.retries('b')], [1, 2, 2]);
    limiter.forget('a');
    assert.deepEqual([limiter.retries('a'), limiter.when('a')], [0, 1]);
    assert.equal(limiter.when('b'), 4);
  });

  test('stays at the maximum after thousands of failures', () => {
    const limiter = new ExponentialDelay(5, 1_000_000);
    for (let failure = 0; failure < 2000; failure++) limiter.when('a');
    assert.equal(limiter.when('a'), 1_000_000);
  });

  test('forget() of a key without failures does nothing', () => {
    const limiter = new ExponentialDelay(5, 1000);
    limiter.forget('a');
    assert.deepEqual([limiter.retries('a'), limiter.when('a')], [0, 5]);
  });
});

describe('token bucket', () => {
  test('lets the burst pass, then delays each key in turn', () => {
    const bucket = new TokenBucket(new FakeClock(), 10, 3);
    assert.deepEqual(
      Array.from({ length: 6 }, () => bucket.when()),
      [0, 0, 0, 100, 200, 300],
    );
  });

  test('refills with time, also from below zero, and never above the burst', () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, 10, 3);
    for (let failure = 0; failure < 5; failure++) bucket.when();
    clock.freeze(250);
    assert.equal(bucket.when(), 50);
    clock.freeze(3_600_000);
    assert.deepEqual(
      Array.from({ length: 4 }, () => bucket.when()),
      [0, 0, 0, 100],
    );
  });

  test('forget() returns no token, and counts no failure', () => {
    const bucket = new TokenBucket(new FakeClock(), 10, 1);
    bucket.when();
    bucket.forget();
    assert.deepEqual([bucket.retries(), bucket.when()], [0, 100]);
  });
});

describe('the maximum of several limiters', () => {
  test('is zero without limiters', () => {
    const none = new MaxOf<string>([]);
    assert.deepEqual([none.when('a'), none.retries('a')], [0, 0]);
  });

  test('asks every limiter each time', () => {
    const clock = new FakeClock();
    const limiter = new MaxOf([new ExponentialDelay(40, 1000), new TokenBucket(clock, 10, 2)]);
    assert.deepEqual(
      Array.from({ length: 6 }, () => limiter.when('a')),
      [40, 80, 160, 320, 640, 1000],
    );
    // The bucket counted all of them, though it never was the maximum.
    assert.equal(limiter.when('b'), 500);
  });

  test('reports the largest failure count, and forgets in all', () => {
    const [a, b] = [new ExponentialDelay(5, 1000), new ExponentialDelay(7, 1000)];
    const limiter = new MaxOf([a, b]);
    limiter.when('x');
    b.when('x');
    assert.equal(limiter.retries('x'), 2);
    limiter.forget('x');
    assert.deepEqual([a.retries('x'), b.retries('x'), limiter.retries('x')], [0, 0, 0]);
  });
});

describe('the default limiter of client-go', () => {
  test('delays one key by 5 ms, doubling to 1000 s', () => {
    const limiter = defaultRateLimiter(new FakeClock());
    const delays = Array.from({ length: 20 }, () => limiter.when('a'));
    assert.deepEqual(delays.slice(0, 5), [5, 10, 20, 40, 80]);
    assert.deepEqual(delays.slice(-3), [655_360, 1_000_000, 1_000_000]);
    assert.equal(limiter.retries('a'), 20);
  });

  test('lets 100 of many keys pass at once, then 10 a second', () => {
    const limiter = defaultRateLimiter(new FakeClock());
    const delays = Array.from({ length: 300 }, (_, index) => limiter.when(`key ${index}`));
    assert.equal(delays.filter(ms => ms === 5).length, 100);
    assert.deepEqual([delays[100], delays[101], delays[299]], [100, 200, 20_000]);
  });
});
