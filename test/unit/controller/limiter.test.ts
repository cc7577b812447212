import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimiter } from '../../../src/controller/limiter.ts';

test('runs at most the limit at a time, and all in order', async () => {
  const limit = createLimiter(3);
  let running = 0;
  let most = 0;
  const started: number[] = [];
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      limit(async () => {
        started.push(index);
        most = Math.max(most, ++running);
        await new Promise(resolve => setImmediate(resolve));
        running--;
        return index;
      }),
    ),
  );
  assert.equal(most, 3);
  assert.deepEqual(results, started);
});

test('frees the slot of work that throws', async () => {
  const limit = createLimiter(1);
  await assert.rejects(
    limit(() => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await limit(async () => 'next'), 'next');
});

test('aside() frees the slot during the work, and takes a slot again afterwards', async () => {
  const limit = createLimiter(1);
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = limit(async () => {
    await limit.aside(() => gate.promise);
    done.push('first');
  });
  const second = limit(async () => {
    gate.resolve();
    await new Promise(resolve => setImmediate(resolve));
    done.push('second');
  });
  await Promise.all([first, second]);
  assert.deepEqual(done, ['second', 'first']);
  await assert.rejects(
    limit(() => limit.aside(() => Promise.reject(new Error('no')))),
    /no/,
  );
  assert.equal(await limit(async () => 'next'), 'next');
});
