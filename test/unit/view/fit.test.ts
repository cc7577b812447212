import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widthOf } from '../../../src/render/width.ts';
import { cut, fit, wrap } from '../../../src/view/fit.ts';

test('fit() returns exactly the width for any text', () => {
  const texts = [
    '',
    'a',
    'abcdef',
    'abcdefg',
    'abcdefghij',
    '日本語日本語',
    'a\u0301b\u0301',
    '👩‍👩‍👧 family',
    '\u001b[31mred',
    'x'.repeat(100_000),
  ];
  for (const text of texts) {
    for (let width = 0; width <= 9; width++) {
      for (const align of ['left', 'right'] as const) {
        assert.equal(widthOf(fit(text, width, align)), width, JSON.stringify([text.slice(0, 20), width]));
      }
    }
  }
  assert.equal(fit('abcdef', 4), 'abc…');
  assert.equal(fit('日本語', 4), '日… ');
  assert.equal(fit('12', 4, 'right'), '  12');
  assert.equal(fit({ text: 'ab', paint: text => `<${text}>` }, 4), '<ab>  ');
  assert.equal(cut('ab', 0), '');
});

test('fit() and wrap() escape cursor movement, colours and bidi characters', () => {
  const hostile = 'a\u001b[2Jb\u0007c\nd\u202ee\u009b5A';
  assert.equal(fit(hostile, 60).trimEnd(), 'a\\u001b[2Jb\\u0007c\\nd\\u202ee\\u009b5A');
  assert.deepEqual(wrap(hostile, 60), ['a\\u001b[2Jb\\u0007c\\nd\\u202ee\\u009b5A']);
});

test('wrap() breaks at spaces, else anywhere, and loses nothing', () => {
  assert.deepEqual(wrap('', 5), ['']);
  assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrap('abcdefgh', 3), ['abc', 'def', 'gh']);
  assert.deepEqual(wrap('日本語', 4), ['日本', '語']);
  assert.deepEqual(wrap('ab  cd', 2), ['ab', 'cd']);
  assert.deepEqual(wrap('ab', 0), ['ab']);
  // A character that is wider than the screen gets its own line.
  assert.deepEqual(wrap('日本', 1), ['日', '本']);
});

test('wrap() handles a megabyte in time', () => {
  const start = performance.now();
  const lines = wrap(`${'x'.repeat(999)} `.repeat(1_000).trimEnd(), 66);
  // A tenth of a second; minutes if each line scanned all the rest.
  assert.ok(performance.now() - start < 5_000);
  assert.equal(lines.join('').length, 999_000);
});
