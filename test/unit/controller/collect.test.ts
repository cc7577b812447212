import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { countRead, countRollout } from '../../../src/controller/collect.ts';

const MIB = 1024 ** 2;
const before = globalThis.gc;
after(() => {
  globalThis.gc = before;
});
let collections = 0;
const count = (async () => {
  collections++;
}) as typeof globalThis.gc;

test('a collection follows what was read, and what reconciles of a rollout left, together', () => {
  globalThis.gc = undefined;
  countRead(1_000 * MIB);
  countRollout(1_000_000);
  globalThis.gc = count;
  countRead(1);
  assert.equal(collections, 1, 'what was counted before');
  // 4 MiB and 9 MiB: less than 14.
  countRollout(512);
  countRead(9 * MIB);
  assert.equal(collections, 1);
  // Half of the heap, if that is more.
  const reconciles = Math.ceil((process.memoryUsage().heapTotal / MIB + 14) / 4);
  for (let at = 0; at < reconciles; at++) countRollout(512);
  assert.ok(collections > 1, 'nothing was collected');
});
