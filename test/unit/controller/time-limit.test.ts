import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { type TimeLimitedCall, withTimeLimit } from '../../../src/controller/time-limit.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

function begin(work?: (attempt: TimeLimitedCall<string>) => Promise<string>) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const inner = Promise.withResolvers<TimeLimitedCall<string>>();
  const results: string[] = [];
  withTimeLimit(clock, 100, stop.signal, { late: 'late', stopped: 'stopped' }, async given => {
    inner.resolve(given);
    return work === undefined ? new Promise<string>(() => {}) : work(given);
  }).then(
    result => results.push(result),
    (error: Error) => results.push(`threw ${error.message}`),
  );
  return { clock, stop, inner: inner.promise, results };
}

describe('an attempt', () => {
  test('resolves or rejects as the work does', async () => {
    for (const [work, expected] of [
      [async () => 'done', 'done'],
      [() => Promise.reject(new Error('no')), 'threw no'],
    ] as const) {
      const { clock, stop, inner, results } = begin(work);
      await flushPromises();
      assert.deepEqual(results, [expected]);
      assert.equal((await inner).signal.aborted, true);
      assert.equal(clock.pending, 0);
      assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
    }
  });

  test('times out after its limit, which can be extended', async () => {
    const { clock, inner, results } = begin();
    await clock.advance(99);
    (await inner).extend(100);
    await clock.advance(99);
    assert.deepEqual(results, []);
    await clock.advance(1);
    assert.deepEqual(results, ['late']);
    (await inner).extend(100);
    assert.equal(clock.pending, 0);
  });

  test('can be ended from inside, and drops later results', async () => {
    const { stop, inner, results } = begin();
    const { end } = await inner;
    end('first');
    end('second');
    stop.abort();
    await flushPromises();
    assert.deepEqual(results, ['first']);
  });

  test('ends when stopped, and does not begin again', async () => {
    const { stop, inner, results, clock } = begin();
    await inner;
    stop.abort();
    await flushPromises();
    assert.deepEqual(results, ['stopped']);
    let begun = false;
    const result = await withTimeLimit(clock, 100, stop.signal, { late: 1, stopped: 2 }, async () => {
      begun = true;
      return 3;
    });
    assert.deepEqual([result, begun, clock.pending], [2, false, 0]);
  });
});
