import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deepEqual, mergePatch } from '../../../src/nodepool/merge-patch.ts';

const cases: [string, unknown, unknown, unknown][] = [
  ['equal', { a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }, undefined],
  ['added and removed', { a: 1 }, { b: 2 }, { a: null, b: 2 }],
  ['nested', { a: { x: 1, y: 2 } }, { a: { x: 1, y: 3 } }, { a: { y: 3 } }],
  ['arrays whole', { a: [1, 2] }, { a: [1] }, { a: [1] }],
  ['object to scalar', { a: { x: 1 } }, { a: 1 }, { a: 1 }],
  ['from nothing', undefined, { a: {} }, { a: {} }],
  ['undefined is absence', { a: undefined }, {}, undefined],
  ['a key named like an inherited member', { constructor: 'x' }, {}, { constructor: null }],
  ['emptied object', { a: { x: 1 } }, { a: {} }, { a: { x: null } }],
];
for (const [name, before, after, want] of cases) {
  test(`merge patch: ${name}`, () => assert.deepEqual(mergePatch(before, after), want));
}

test('deepEqual compares arrays by order and length', () => {
  assert.ok(deepEqual([1, { a: 1 }], [1, { a: 1, b: undefined }]));
  assert.ok(!deepEqual([1, 2], [2, 1]));
  assert.ok(!deepEqual([1], [1, 2]));
  assert.ok(!deepEqual({ a: null }, {}));
});
