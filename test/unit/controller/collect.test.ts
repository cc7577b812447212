import assert from 'node:assert/strict';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { systemClock } from '../../../src/controller/clock.ts';
import { countKept, countRollout, countWatched } from '../../../src/controller/collect.ts';
import { exchange } from '../../../src/kube/transport/exchange.ts';

const MIB = 1024 ** 2;
const before = globalThis.gc;
after(() => {
  globalThis.gc = before;
});
let collections = 0;
const count = (async () => {
  collections++;
}) as typeof globalThis.gc;

test('counts reads and reconciles of a rollout together towards a garbage collection', () => {
  globalThis.gc = undefined;
  countKept(1_000 * MIB);
  countRollout(1_000_000);
  globalThis.gc = count;
  countKept(1);
  assert.equal(collections, 1, 'what was counted before');
  // 4 MiB and 9 MiB: less than 14.
  countRollout(512);
  countKept(9 * MIB);
  assert.equal(collections, 1);
  // Half of the heap, if that is more.
  const reconciles = Math.ceil((process.memoryUsage().heapTotal / MIB + 14) / 4);
  for (let at = 0; at < reconciles; at++) countRollout(512);
  assert.ok(collections > 1, 'nothing was collected');
});

test('a watch counts a quarter of the kept bytes', t => {
  globalThis.gc = count;
  t.mock.method(process, 'memoryUsage', () => ({ heapUsed: 0 }));
  const collectionsOf = (counted: (bytes: number) => void) => {
    countKept(1_000 * MIB);
    const start = collections;
    for (let at = 0; at < 112; at++) counted(MIB);
    return collections - start;
  };
  assert.deepEqual([countKept, countWatched].map(collectionsOf), [8, 2]);
});

test('counts a body that is kept, not a body that is decoded as it arrives', async t => {
  globalThis.gc = count;
  // The heap of the tests that ran before would count, too.
  t.mock.method(process, 'memoryUsage', () => ({ heapUsed: 0 }));
  const server = createServer((_request, response) => response.end(Buffer.alloc(40 * MIB)));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const head = { url, method: 'GET', headers: {}, body: undefined, agent: new Agent(), deadlineMs: undefined };
  const ask = async (onBody?: () => void) => {
    countKept(1_000 * MIB);
    const start = collections;
    await exchange({ ...head, clock: systemClock, onBody });
    return collections - start;
  };
  const [decoded, kept] = [await ask(() => {}), await ask()];
  assert.ok(decoded === 0 && kept > 0, `${decoded} and ${kept} collections`);
});
