import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DrainSlots, drainOrder } from '../../../../src/nodepool/drain/drain-slots.ts';

const nodes = [
  { name: 'b', ready: true },
  { name: 'c', ready: false },
  { name: 'a', ready: true },
  { name: 'd', ready: true },
];

test('orders nodes by name; with --max-unavailable, unavailable nodes first', () => {
  const names = (pace: Parameters<typeof drainOrder>[1]) => drainOrder(nodes, pace).map(({ name }) => name);
  assert.deepEqual(names({ kind: 'parallel', nodes: 1 }), ['a', 'b', 'c', 'd']);
  assert.deepEqual(names({ kind: 'max unavailable', nodes: 1 }), ['c', 'a', 'b', 'd']);
});

describe('free slots', () => {
  test('--parallel counts nodes in progress only', () => {
    const slots = new DrainSlots({ kind: 'parallel', nodes: 2 }, nodes);
    assert.deepEqual(
      ['a', 'b', 'c'].map(name => slots.acquire(name)),
      [true, true, false],
    );
    slots.release('a', false);
    assert.equal(slots.acquire('c'), true);
    assert.equal(slots.acquire('d'), false);
  });

  test('--max-unavailable counts an unavailable node until it is drained', () => {
    const slots = new DrainSlots({ kind: 'max unavailable', nodes: 1 }, nodes);
    assert.equal(slots.acquire('a'), false);
    assert.equal(slots.acquire('c'), true);
    assert.equal(slots.acquire('a'), false);
    slots.release('c', true);
    assert.equal(slots.acquire('a'), true);
    assert.equal(slots.acquire('b'), false);
  });

  test('--max-unavailable drains at most that many unavailable nodes at a time', () => {
    const down = ['a', 'b', 'c'].map(name => ({ name, ready: false }));
    const slots = new DrainSlots({ kind: 'max unavailable', nodes: 2 }, down);
    assert.deepEqual(
      ['a', 'b', 'c'].map(name => slots.acquire(name)),
      [true, true, false],
    );
    slots.release('a', true);
    assert.equal(slots.acquire('c'), true);
  });

  test('--max-unavailable keeps counting a node whose drain failed', () => {
    const slots = new DrainSlots(
      { kind: 'max unavailable', nodes: 2 },
      nodes.filter(({ ready }) => ready),
    );
    assert.deepEqual(
      ['a', 'b', 'd'].map(name => slots.acquire(name)),
      [true, true, false],
    );
    slots.release('a', false);
    assert.equal(slots.acquire('d'), false);
    slots.release('b', true);
    assert.equal(slots.acquire('d'), true);
  });
});
