import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DelayHeap } from '../../../src/controller/work-queue.ts';
import { seeded } from './random.ts';

test('keeps the earliest time of a key, in any order of adds', () => {
  const heap = new DelayHeap();
  heap.push('a', 30);
  heap.push('a', 10);
  heap.push('a', 20);
  heap.push('b', 20);
  assert.equal(heap.size, 2);
  assert.equal(heap.next(), 10);
  assert.deepEqual(heap.takeDue(9), []);
  assert.deepEqual(heap.takeDue(10), ['a']);
  assert.deepEqual(heap.takeDue(100), ['b']);
  assert.equal(heap.next(), undefined);
});

test('equals a sorted list of the earliest times, for 200 random histories', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed);
    const heap = new DelayHeap();
    const model = new Map<string, number>();
    for (let step = 0; step < 100; step++) {
      const key = `k${Math.floor(random() * 20)}`;
      const at = Math.floor(random() * 1000);
      if (random() < 0.8) {
        heap.push(key, at);
        model.set(key, Math.min(at, model.get(key) ?? at));
        continue;
      }
      const due = [...model].filter(entry => entry[1] <= at);
      const taken = heap.takeDue(at);
      assert.deepEqual([...taken].sort(), due.map(([name]) => name).sort(), `seed ${seed}`);
      const times = taken.map(name => model.get(name) ?? 0);
      assert.deepEqual(
        times,
        [...times].sort((a, b) => a - b),
        `seed ${seed}`,
      );
      for (const name of taken) model.delete(name);
    }
    assert.equal(heap.size, model.size);
  }
});
