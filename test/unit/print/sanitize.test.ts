import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sanitizeJson, sanitizeLine, sanitizeScreen, sanitizeText } from '../../../src/print/sanitize.ts';

/** Every character that must never reach a terminal as it is, newline and tab apart. */
const UNSAFE = [
  ...range(0x00, 0x08),
  ...range(0x0b, 0x1f),
  ...range(0x7f, 0x9f),
  0xad,
  0x061c,
  0x180e,
  0x200b,
  0x200e,
  0x200f,
  ...range(0x2028, 0x202e),
  ...range(0x2060, 0x206f),
  0xfeff,
  0xd800,
  0xdfff,
];

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

test('escapes every control and bidi character', () => {
  for (const code of UNSAFE) {
    const character = String.fromCharCode(code);
    for (const sanitize of [sanitizeLine, sanitizeText]) {
      assert.match(sanitize(`a${character}b`), /^a\\(x[0-9a-f]{2}|u[0-9a-f]{4}|[nrt])b$/, code.toString(16));
    }
  }
});

test('escapes hidden characters: joiners beside ASCII, tags', () => {
  assert.equal(sanitizeLine('ad\u200dmin\u200c'), 'ad\\u200dmin\\u200c');
  assert.equal(sanitizeLine('\u200dé'), '\\u200dé');
  assert.equal(sanitizeLine('a\u{e0061}'), 'a\\udb40\\udc61');
  assert.deepEqual(JSON.parse(sanitizeJson(JSON.stringify('a\u{e0061}\u200d'))), 'a\u{e0061}\u200d');
  assert.doesNotMatch(sanitizeJson(JSON.stringify('a\u{e0061}\u200d')), /[^ -~]/);
});

test('escapes variation selectors without an effect', () => {
  assert.equal(sanitizeLine('ad\ufe0fmin \u{e0101} b\u180b'), 'ad\\ufe0fmin \\udb40\\udd01 b\\u180b');
  assert.equal(sanitizeLine('❤\ufe0f\ufe0f'), '❤\ufe0f\\ufe0f');
  assert.equal(sanitizeLine('é\u200d\u200dé'), 'é\\u200d\\u200dé');
  assert.equal(sanitizeLine('é\u202e\u200dé'), 'é\\u202e\\u200dé');
  // The character before is escaped to ASCII, where a selector selects nothing.
  assert.equal(sanitizeLine('\ufe0f\u200dé'), '\\ufe0f\\u200dé');
  assert.equal(sanitizeLine('\ud800\ufe0f \u{e0061}\u200dé'), '\\ud800\\ufe0f \\udb40\\udc61\\u200dé');
  for (const text of ['❤️', '1️⃣', '#️⃣', '❤️‍🔥', '🏳️‍🌈', 'ᠠ᠋']) assert.equal(sanitizeLine(text), text);
});

test('keeps colours on a screen, and escapes other sequences', () => {
  assert.equal(sanitizeScreen('\x1b[1;31mred\x1b[39m\n'), '\x1b[1;31mred\x1b[39m\n');
  assert.equal(sanitizeScreen('\x1b[2J\x1b]0;t\x07\x9b31m\u202e'), '\\u001b[2J\\u001b]0;t\\u0007\\u009b31m\\u202e');
});

test('escapes with the code of the character', () => {
  assert.equal(sanitizeLine('\x1b[2J\x07\x9b31m\u202eevil\ud800'), '\\u001b[2J\\u0007\\u009b31m\\u202eevil\\ud800');
  assert.equal(sanitizeLine('a\r\nb\tc'), 'a\\r\\nb\\tc');
});

test('keeps newlines and tabs of multi-line text, and escapes carriage returns', () => {
  assert.equal(sanitizeText('a\n\tb\r\x1b'), 'a\n\tb\\r\\u001b');
});

test('keeps ordinary text of any language', () => {
  for (const text of ['', 'node-1', 'é 中文 עברית العربية', '👩‍👩‍👧 😀', 'می‌خواهم', 'back\\slash']) {
    assert.equal(sanitizeLine(text), text);
    assert.equal(sanitizeText(text), text);
  }
});

test('keeps the value of JSON', () => {
  const value = { a: '\x1b\x7f\x9b\u202e\u2028<&>é\n' };
  const json = sanitizeJson(JSON.stringify(value));
  assert.equal(json, '{"a":"\\u001b\\u007f\\u009b\\u202e\\u2028\\u003c\\u0026\\u003eé\\n"}');
  assert.deepEqual(JSON.parse(json), value);
});
