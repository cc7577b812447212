import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflictDelay } from '../../../src/controller/backoff.ts';

test('does not delay after the first conflict, then up to 4 ms, doubling to 200 ms, with jitter', () => {
  const longest = (attempt: number) => conflictDelay(attempt, 1);
  assert.deepEqual([1, 2, 3, 7, 8, 50, 2000].map(longest), [0, 4, 8, 128, 200, 200, 200]);
  assert.deepEqual([conflictDelay(3, 0), conflictDelay(3, 0.25)], [0, 2]);
});
