import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DrainPlaces, drainOrder } from '../../../src/nodepool/drain-places.ts';

const nodes = [
  { name: 'b', ready: true },
  { name: 'c', ready: false },
  { name: 'a', ready: true },
  { name: 'd', ready: true },
];

test('orders nodes by name, with --max-unavailable unavailable ones first', () => {
  const names = (pace: Parameters<typeof drainOrder>[1]) => drainOrder(nodes, pace).map(({ name }) => name);
  assert.deepEqual(names({ kind: 'parallel', nodes: 1 }), ['a', 'b', 'c', 'd']);
  assert.deepEqual(names({ kind: 'max unavailable', nodes: 1 }), ['c', 'a', 'b', 'd']);
});

describe('free places', () => {
  test('--parallel counts nodes in progress only', () => {
    const places = new DrainPlaces({ kind: 'parallel', nodes: 2 }, nodes);
    assert.deepEqual(
      ['a', 'b', 'c'].map(name => places.take(name)),
      [true, true, false],
    );
    places.give('a', false);
    assert.equal(places.take('c'), true);
    assert.equal(places.take('d'), false);
  });

  test('--max-unavailable counts an unavailable node until it is drained', () => {
    const places = new DrainPlaces({ kind: 'max unavailable', nodes: 1 }, nodes);
    assert.equal(places.take('a'), false);
    assert.equal(places.take('c'), true);
    assert.equal(places.take('a'), false);
    places.give('c', true);
    assert.equal(places.take('a'), true);
    assert.equal(places.take('b'), false);
  });

  test('--max-unavailable drains more unavailable nodes than places, within the limit at a time', () => {
    const down = ['a', 'b', 'c'].map(name => ({ name, ready: false }));
    const places = new DrainPlaces({ kind: 'max unavailable', nodes: 2 }, down);
    assert.deepEqual(
      ['a', 'b', 'c'].map(name => places.take(name)),
      [true, true, false],
    );
    places.give('a', true);
    assert.equal(places.take('c'), true);
  });

  test('--max-unavailable keeps counting a node whose drain failed', () => {
    const places = new DrainPlaces(
      { kind: 'max unavailable', nodes: 2 },
      nodes.filter(({ ready }) => ready),
    );
    assert.deepEqual(
      ['a', 'b', 'd'].map(name => places.take(name)),
      [true, true, false],
    );
    places.give('a', false);
    assert.equal(places.take('d'), false);
    places.give('b', true);
    assert.equal(places.take('d'), true);
  });
});
