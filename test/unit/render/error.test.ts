import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatError } from '../../../src/render/error.ts';

test('what is wrong and what to do next, on one line', () => {
  assert.equal(formatError({ message: 'no pool worker' }), 'error: no pool worker');
  assert.equal(
    formatError({ message: 'cannot patch nodes', next: 'ask for a role' }),
    'error: cannot patch nodes; next: ask for a role',
  );
});

test('after a message of several lines the way out has its own', () => {
  assert.equal(formatError({ message: 'bad:\n  a\n  b', next: 'mend it' }), 'error: bad:\n  a\n  b\nnext: mend it');
});

test('what the cluster put in is escaped', () => {
  assert.equal(formatError({ message: 'x\x1b[31m', next: '\u202e' }), 'error: x\\x1b[31m; next: \\u202e');
});
