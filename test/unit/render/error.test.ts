import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatError, oneLine } from '../../../src/render/error.ts';

test('what is wrong and what to do next, on one line', () => {
  assert.equal(formatError(['no pool worker']), 'error: no pool worker');
  assert.equal(
    formatError(['cannot patch nodes'], 'ask for a role'),
    'error: cannot patch nodes; next: ask for a role',
  );
});

test('after a message of several lines the way out has its own', () => {
  assert.equal(formatError(['bad:', 'a', 'b'], 'mend it'), 'error: bad:\n  a\n  b\nnext: mend it');
});

test('what the cluster put in is escaped', () => {
  assert.equal(formatError(['x\x1b[31m\ty'], '\u202e'), 'error: x\\u001b[31m\\ty; next: \\u202e');
});

test('a megabyte is cut, whatever is in it and at once', () => {
  const start = performance.now();
  for (const character of ['x', '\u001b', '\n', '😀', '\ud83d']) {
    const line = oneLine(character.repeat(1_000_000));
    assert.match(line, /^[^\n]{2000}… \(cut\)$/);
  }
  assert.ok(performance.now() - start < 200);
  assert.equal(oneLine('x'.repeat(2000)), 'x'.repeat(2000));
});
