import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sanitizeJson, sanitizeLine, sanitizeText } from '../../../src/render/sanitize.ts';

/** Every character that must never reach a terminal as it is, newline and tab apart. */
const UNSAFE = [
  ...range(0x00, 0x08),
  ...range(0x0b, 0x1f),
  ...range(0x7f, 0x9f),
  0x061c,
  0x200e,
  0x200f,
  ...range(0x2028, 0x202e),
  ...range(0x2066, 0x2069),
  0xd800,
  0xdfff,
];

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

test('every control and bidi character becomes a visible escape', () => {
  for (const code of UNSAFE) {
    const character = String.fromCharCode(code);
    for (const sanitize of [sanitizeLine, sanitizeText]) {
      assert.match(sanitize(`a${character}b`), /^a\\(x[0-9a-f]{2}|u[0-9a-f]{4}|[nrt])b$/, code.toString(16));
    }
  }
});

test('escapes say which character it was', () => {
  assert.equal(sanitizeLine('\x1b[2J\x07\x9b31m\u202eevil\ud800'), '\\x1b[2J\\x07\\x9b31m\\u202eevil\\ud800');
  assert.equal(sanitizeLine('a\r\nb\tc'), 'a\\r\\nb\\tc');
});

test('text of several lines keeps newlines and tabs, and loses carriage returns', () => {
  assert.equal(sanitizeText('a\n\tb\r\x1b'), 'a\n\tb\\r\\x1b');
});

test('ordinary text of any language stays as it is', () => {
  for (const text of ['', 'node-1', 'é 中文 עברית العربية', '👩‍👩‍👧 😀', 'back\\slash']) {
    assert.equal(sanitizeLine(text), text);
    assert.equal(sanitizeText(text), text);
  }
});

test('JSON keeps its value', () => {
  const value = { a: '\x1b\x7f\x9b\u202e\u2028<&>é\n' };
  const json = sanitizeJson(JSON.stringify(value));
  assert.equal(json, '{"a":"\\u001b\\u007f\\u009b\\u202e\\u2028\\u003c\\u0026\\u003eé\\n"}');
  assert.deepEqual(JSON.parse(json), value);
});
