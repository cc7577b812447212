import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut, widthOf, wrap, wrapIndented, wrapWords } from '../../../src/print/width.ts';
import { cpuMs } from '../cpu-time.ts';

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
  const start = cpuMs();
  assert.equal(widthOf('中\u0301😀\u200d'.repeat(50_000)), 200_000);
  assert.ok(cpuMs() - start < 1_000);
});

test('cut() appends an ellipsis if there is room', () => {
  assert.equal(cut('abcdef', 4), 'abc…');
  assert.equal(cut('ab', 0), '');
});

test('wrap() escapes cursor movement, colours and bidi characters', () => {
  const hostile = 'a\u001b[2Jb\u0007c\nd\u202ee\u009b5A';
  assert.deepEqual(wrap(hostile, 60), ['a\\u001b[2Jb\\u0007c\\nd\\u202ee\\u009b5A']);
});

test('wrap() breaks at spaces, or else anywhere, and loses nothing', () => {
  assert.deepEqual(wrap('', 5), ['']);
  assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrap('abcdefgh', 3), ['abc', 'def', 'gh']);
  assert.deepEqual(wrap('日本語', 4), ['日本', '語']);
  assert.deepEqual(wrap('ab  cd', 2), ['ab', 'cd']);
  assert.deepEqual(wrap('ab', 0), ['ab']);
  // A character that is wider than the screen still goes by.
  assert.deepEqual(wrap('日本', 1), ['日', '本']);
});

test('indents continuation lines of a wrapped text', () => {
  const cases: [text: string, lines: string[]][] = [
    ['    short', ['    short']],
    ['    one two three', ['    one two', '      three']],
    ['    abcdefghijklmno', ['    abcdefgh', '      ijklmn', '      o']],
    ['Key:  one two three', ['Key:  one', '      two', '      three']],
    ['key: one two three', ['key: one two', '  three']],
    ['            deep', ['      deep']],
  ];
  for (const [text, lines] of cases) assert.deepEqual(wrapIndented(text, 12), lines, text);
});

test('wrap() handles a megabyte quickly', () => {
  const start = cpuMs();
  const lines = wrap(`${'x'.repeat(999)} `.repeat(1_000).trimEnd(), 66);
  // A tenth of a second; minutes when each line looks at all the rest.
  assert.ok(cpuMs() - start < 5_000);
  assert.equal(lines.join('').length, 999_000);
});

test('wraps only at spaces, and not within a command that fits on a line', () => {
  const cases: [text: string, width: number, lines: string[]][] = [
    ['', 5, ['']],
    ['a  b', 5, ['a  b']],
    ['- one two', 5, ['- one', '  two']],
    ['a muchtoolong b', 5, ['a', '  muchtoolong', '  b']],
    ['run `a b c`, or', 10, ['run', '  `a b c`,', '  or']],
    ['run `a b c`, or', 7, ['run', '  `a \\', '  b c`,', '  or']],
    ["`a 'b c' d`", 8, ['`a \\', "  'b c' \\", '  d`']],
    ["it's ` open and", 7, ["it's `", '  open', '  and']],
    ['節節 節', 4, ['節節', '  節']],
  ];
  for (const [text, width, lines] of cases) assert.deepEqual(wrapWords(text, width), lines, text);
});
