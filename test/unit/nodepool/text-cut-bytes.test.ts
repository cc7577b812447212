import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutBytes, ellipsize } from '../../../src/nodepool/text.ts';

const CASES: [text: string, limit: number, cut: string][] = [
  ['', 3, ''],
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['aé', 3, 'aé'],
  ['aé', 2, 'a'],
  ['a😀', 4, 'a'],
  ['a😀b', 5, 'a😀'],
  ['\uFEFFab', 4, '\uFEFFa'],
];

test('cuts to a number of bytes, never inside a character', () => {
  for (const [text, limit, cut] of CASES) assert.equal(cutBytes(text, limit), cut, JSON.stringify(text));
});

test('ends a cut text with an ellipsis within the limit', () => {
  assert.equal(ellipsize('abcd', 4), 'abcd');
  assert.equal(ellipsize('abcde', 4), 'a…');
  assert.equal(ellipsize('aéééé', 6), 'aé…');
});
