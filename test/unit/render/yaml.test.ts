import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { toYaml } from '../../../src/render/yaml.ts';

/** Made with sigs.k8s.io/yaml 1.6.0, the library of kubectl 1.36. */
const vectors: { object: Record<string, unknown>; yaml: string }[] = JSON.parse(
  readFileSync(new URL('yaml-vectors.json', import.meta.url), 'utf8'),
);

test('writes what Go writes', async t => {
  assert.ok(vectors.length > 200);
  for (const { object, yaml } of vectors) {
    await t.test(JSON.stringify(object).slice(0, 60), () => assert.equal(`${toYaml(object)}\n`, yaml));
  }
});

test('what a terminal obeys is escaped, where Go would print it', () => {
  assert.equal(toYaml({ a: 'x\u202ey', '\u2066': 1 }), '"\\u2066": 1\na: "x\\u202Ey"');
  assert.equal(toYaml({ a: 'x\u2028y\u2029' }), 'a: "x\\Ly\\P"');
  assert.equal(toYaml({ a: 'x\u007f\u009b' }), 'a: "x\\x7F\\x9B"');
  assert.equal(toYaml({ a: 'line\n\u200f' }), 'a: "line\\n\\u200F"');
});

test('half a surrogate pair becomes the replacement character, as in Go', () => {
  assert.equal(toYaml({ a: '\ud83d!' }), 'a: �!');
});

test('members that are undefined are left out, an object without any is {}', () => {
  assert.equal(toYaml({ a: undefined, b: { c: undefined } }), 'b: {}');
  assert.equal(toYaml({}), '{}');
});
