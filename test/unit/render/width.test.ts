import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widthOf } from '../../../src/render/width.ts';

const CASES: [text: string, width: number][] = [
  ['', 0],
  ['node-1', 6],
  ['é', 1],
  ['e\u0301', 1],
  ['中文', 4],
  ['ｗｉｄｅ', 8],
  ['ｶﾅ', 2],
  ['한글', 4],
  ['\u1112\u1161\u11ab', 2],
  ['ที่', 1],
  ['עִבְרִית', 5],
  ['𠀀', 2],
  ['😀', 2],
  ['🫠', 2],
  ['👍🏽', 2],
  ['👩‍👩‍👧', 2],
  ['🇩🇪🇫🇷', 4],
  ['1️⃣', 2],
  ['❤️', 2],
  ['❤', 1],
  ['☺', 1],
  ['㊗〰', 4],
  ['🏻', 2],
  ['①', 1],
  ['…', 1],
  ['→ ok', 4],
  ['a😀中b', 6],
];

for (const [text, width] of CASES) test(JSON.stringify(text), () => assert.equal(widthOf(text), width));

test('measures a long text in linear time', () => {
  const start = performance.now();
  assert.equal(widthOf('中\u0301😀\u200d'.repeat(50_000)), 200_000);
  assert.ok(performance.now() - start < 1_000);
});
