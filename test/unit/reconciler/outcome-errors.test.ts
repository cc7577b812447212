/** An error of a write, with what was written before it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { WriteError, withMove, withoutMove } from '../../../src/reconciler/outcome.ts';

const move = { node: 'n1', from: 'a', to: 'b', changes: [] };
const plain = new NodepoolError('cluster', 'cannot patch', 'ask', { items: ['x'], isGeneral: true, isTransient: true });

test('an error with a move has the same message as without', () => {
  const error = withMove(plain, move);
  const { kind, lines, next, isGeneral, isTransient, cause, retryAfterMs, isThrottled } = error;
  assert.deepEqual([kind, lines, next, isGeneral, isTransient], ['cluster', ['cannot patch', 'x'], 'ask', true, true]);
  assert.deepEqual([cause, retryAfterMs, isThrottled, error.move], [plain, undefined, false, move]);
});

test('returns the move to the first caller only, and the retry time to all', () => {
  const held = new WriteError(plain, { retryAfterMs: 7, isThrottled: true });
  const moved = withMove(held, move);
  assert.deepEqual([moved.move, moved.retryAfterMs, moved.isThrottled, moved.message], [move, 7, true, held.message]);
  assert.equal(withMove(moved, { ...move, to: 'c' }), moved, 'it has all of the move already');
  const shared = withoutMove(moved);
  assert.ok(shared instanceof WriteError);
  assert.deepEqual([shared.move, shared.retryAfterMs, shared.isThrottled], [undefined, 7, true]);
  assert.equal(shared.message, held.message);
  for (const error of [held, plain, new TypeError('a bug')]) assert.equal(withoutMove(error), error);
});
