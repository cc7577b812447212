import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { printJson } from '../../../src/print/printers.ts';
import { sanitizeText } from '../../../src/print/sanitize.ts';
import { toYaml } from '../../../src/print/yaml.ts';

/** Made with sigs.k8s.io/yaml 1.6.0, the library of kubectl 1.36. */
const vectors: { object: Record<string, unknown>; yaml: string }[] = JSON.parse(
  readFileSync(new URL('yaml-vectors.json', import.meta.url), 'utf8'),
);

test('writes the same YAML as Go', async t => {
  assert.ok(vectors.length > 200);
  for (const { object, yaml } of vectors) {
    await t.test(JSON.stringify(object).slice(0, 60), () => assert.equal(`${toYaml(object)}\n`, yaml));
  }
});

test('escapes terminal control characters, which Go would print', () => {
  assert.equal(toYaml({ a: 'x\u202ey', '\u2066': 1 }), '"\\u2066": 1\na: "x\\u202Ey"');
  assert.equal(toYaml({ a: 'x\u2028y\u2029' }), 'a: "x\\Ly\\P"');
  assert.equal(toYaml({ a: 'x\u007f\u009b' }), 'a: "x\\x7F\\x9B"');
  assert.equal(toYaml({ a: 'line\n\u200f' }), 'a: "line\\n\\u200F"');
});

test('writes visible joiners and variation selectors as Go does, and escapes hidden ones', () => {
  assert.equal(toYaml({ a: '❤️ می‌خواهم' }), 'a: ❤️ می‌خواهم');
  assert.equal(toYaml({ a: '👩‍🔬' }), 'a: "\\U0001F469‍\\U0001F52C"');
  assert.equal(toYaml({ a: 'ad\u200dmin', 'k\ufe0f': 1 }), 'a: "ad\\u200Dmin"\n"k\\uFE0F": 1');
});

test('keeps the value when it escapes control characters', () => {
  for (const value of ['ad\u200dmin', '👩‍🔬', '👩‍🔬\u202e', '❤️ \u202e', '\u{e0101}', '\u200b\ufe0f', '1️⃣', 'a\tb']) {
    assert.deepEqual(load(sanitizeText(toYaml({ [value]: value }))), { [value]: value }, JSON.stringify(value));
    assert.deepEqual(JSON.parse(sanitizeText(printJson({ [value]: value }))), { [value]: value });
  }
});

test('replaces half a surrogate pair as Go does', () => {
  assert.equal(toYaml({ a: '\ud83d!' }), 'a: �!');
});

test('omits undefined members, and prints {} for an empty object', () => {
  assert.equal(toYaml({ a: undefined, b: { c: undefined } }), 'b: {}');
  assert.equal(toYaml({}), '{}');
});
