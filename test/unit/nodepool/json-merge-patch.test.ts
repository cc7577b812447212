import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyMergePatch, deepEqual, mergePatch, overlappingPaths } from '../../../src/nodepool/json.ts';

const cases: [string, unknown, unknown, unknown][] = [
  ['equal', { a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }, undefined],
  ['added and removed', { a: 1 }, { b: 2 }, { a: null, b: 2 }],
  ['nested', { a: { x: 1, y: 2 } }, { a: { x: 1, y: 3 } }, { a: { y: 3 } }],
  ['replaces whole arrays', { a: [1, 2] }, { a: [1] }, { a: [1] }],
  ['object to scalar', { a: { x: 1 } }, { a: 1 }, { a: 1 }],
  ['from nothing', undefined, { a: {} }, { a: {} }],
  ['treats undefined as absent', { a: undefined }, {}, undefined],
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

test('applies a merge patch', () => {
  const target = { spec: { labels: { a: '1', b: '2' }, taints: [1] }, kept: true };
  for (const after of [
    { spec: { labels: { a: '1', c: '3' }, taints: [2, 3] }, kept: true },
    { spec: {}, added: { deep: { x: 1 } } },
    target,
  ]) {
    assert.deepEqual(applyMergePatch(target, mergePatch(target, after) ?? {}), after);
  }
  assert.deepEqual(applyMergePatch(undefined, { a: { b: 1, c: null } }), { a: { b: 1 } });
});

test('finds the fields that two patches set to different values', () => {
  const mine = { spec: { labels: { a: '1', b: '2', same: 'x' }, taints: [1], handler: null } };
  assert.deepEqual(
    overlappingPaths(mine, { spec: { labels: { c: '1', same: 'x' } }, metadata: { labels: { a: '0' } } }),
    [],
  );
  const theirs = { spec: { labels: { a: null, b: '2' }, taints: [2], handler: 'h' } };
  assert.deepEqual(overlappingPaths(mine, theirs), [
    ['spec', 'labels', 'a'],
    ['spec', 'taints'],
    ['spec', 'handler'],
  ]);
  assert.deepEqual(overlappingPaths({ spec: { labels: null } }, theirs), [['spec', 'labels']]);
});
