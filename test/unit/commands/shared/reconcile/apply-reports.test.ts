import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movesOf, notUpToDate } from '../../../../../src/commands/shared/reconcile/apply.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { emptyOutcome, type PoolOutcome } from '../../../../../src/reconciler/outcome.ts';

const OUTCOME = emptyOutcome('a');

test('reports problems of another pool', () => {
  const reported = (outcome: Partial<PoolOutcome> | undefined, error?: NodepoolError) =>
    notUpToDate({ pool: 'a', outcome: outcome && { ...OUTCOME, ...outcome }, error });
  const late = (why: string) => ({
    message: `a is not up to date: ${why}`,
    next: 'run `kubectl nodepool reconcile a`',
  });
  const two = { failures: [{ message: 'first' }, { message: 'second' }] };
  assert.deepEqual(reported({}), []);
  assert.deepEqual(reported(undefined), []);
  assert.deepEqual(reported({ warnings: ['w', 'v'] }), ['a: w', 'a: v']);
  assert.deepEqual(reported({ failures: [{ message: 'first' }] }), [late('first')]);
  assert.deepEqual(reported({ ...two, warnings: ['w'] }), ['a: w', late('first (and 1 more)')]);
  const error = new NodepoolError('cluster', 'refused', undefined, { items: ['x'] });
  assert.deepEqual(reported(undefined, error), [late('refused x')]);
  assert.deepEqual(reported(two, error), [late('first (and 2 more)')]);
});

test('returns no moves for results without an outcome', () => {
  assert.deepEqual(movesOf([{ pool: 'a', outcome: undefined, error: new NodepoolError('cluster', 'no') }]), []);
});
