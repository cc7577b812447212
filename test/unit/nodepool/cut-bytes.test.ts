import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutBytes } from '../../../src/nodepool/cut-bytes.ts';

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

test('at most so many bytes, and no half characters', () => {
  for (const [text, limit, cut] of CASES) assert.equal(cutBytes(text, limit), cut, JSON.stringify(text));
});
