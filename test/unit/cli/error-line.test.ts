import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorLine } from '../../../src/cli/error-line.ts';
import { fieldErrors } from '../../../src/nodepool/field-error.ts';

test('a newline in a value makes no second line', () => {
  assert.equal(
    errorLine({ message: 'nodepool "a\nerror: b" not found', next: 'look for a\nb' }),
    'error: nodepool "a\\nerror: b" not found; next: look for a\\nb',
  );
});

test('a list of problems has a line each, and no more', () => {
  const errors = [
    { field: 'spec.labels[a\nb]', message: 'wrong' },
    { field: 'spec.handler', message: 'wrong' },
  ];
  const lines = errorLine(fieldErrors('p', errors)).split('\n');
  assert.deepEqual(lines.slice(0, 3), [
    'error: p has 2 errors:',
    '  spec.labels[a\\nb]: wrong',
    '  spec.handler: wrong',
  ]);
  assert.equal(lines.length, 4);
});
