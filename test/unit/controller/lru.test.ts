import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lru } from '../../../src/controller/lru.ts';

/** Full, with two entries: `a` is older than `b`. */
function create() {
  const lru = new Lru<string, number>(2);
  lru.set('a', 1);
  lru.set('b', 2);
  return { lru, all: () => ['a', 'b', 'c'].map(key => lru.get(key)) };
}

test('evicts the least recently used entry', () => {
  const { lru, all } = create();
  lru.set('c', 3);
  assert.deepEqual(all(), [undefined, 2, 3]);
});

test('a read counts as use', () => {
  const { lru, all } = create();
  assert.equal(lru.get('a'), 1);
  lru.set('c', 3);
  assert.deepEqual(all(), [1, undefined, 3]);
});

test('a second write counts as use, changes the value and evicts nothing', () => {
  const { lru, all } = create();
  lru.set('a', 10);
  assert.deepEqual(all(), [10, 2, undefined]);
  lru.set('a', 11);
  lru.set('c', 3);
  assert.deepEqual(all(), [11, undefined, 3]);
});

test('a read of a missing key changes nothing', () => {
  const { lru, all } = create();
  assert.equal(lru.get('c'), undefined);
  assert.deepEqual(all(), [1, 2, undefined]);
});

test('stores falsy values', () => {
  const lru = new Lru<string, number | string | boolean>(2);
  lru.set('zero', 0);
  lru.set('empty', '');
  assert.equal(lru.get('zero'), 0);
  lru.set('false', false);
  assert.deepEqual([lru.get('zero'), lru.get('empty'), lru.get('false')], [0, undefined, false]);
});
