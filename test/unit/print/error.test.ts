import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatError, oneLine } from '../../../src/print/error.ts';
import { cpuMs } from '../cpu-time.ts';

test('prints error and next step on one line', () => {
  assert.equal(formatError(['no pool worker']), 'error: no pool worker');
  assert.equal(
    formatError(['cannot patch nodes'], 'ask for a role'),
    'error: cannot patch nodes; next: ask for a role',
  );
});

test('prints the next step on its own line after a message of several lines', () => {
  assert.equal(formatError(['bad:', 'a', 'b'], 'mend it'), 'error: bad:\n  a\n  b\nnext: mend it');
});

test('escapes text of the cluster', () => {
  assert.equal(formatError(['x\x1b[31m\ty'], '\u202e'), 'error: x\\u001b[31m\\ty; next: \\u202e');
});

test('cuts a megabyte of any text in constant time', () => {
  const start = cpuMs();
  for (const character of ['x', '\u001b', '\n', '😀', '\ud83d']) {
    const line = oneLine(character.repeat(1_000_000));
    assert.match(line, /^[^\n]{2000}… \(cut\)$/);
  }
  assert.ok(cpuMs() - start < 200);
  assert.equal(oneLine('x'.repeat(2000)), 'x'.repeat(2000));
});
