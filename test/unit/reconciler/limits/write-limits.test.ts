import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, NodePoolsClient } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER, type NodePool } from '../../../../src/nodepool/types.ts';
import { WriteRateLimiter } from '../../../../src/reconciler/limits/rate-limiters.ts';
import { assertStatusFree, statusWritten } from '../../../../src/reconciler/limits/write-limits.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { addFinalizer, dropFinalizer } from '../../../../src/reconciler/write/pool-metadata.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aPool } from '../../nodepool/fixtures.ts';
import { reconcilerOptions } from '../reconciler-options.ts';

function fakeCluster(poolFieldManager: () => Promise<string | undefined> = async () => undefined) {
  const clock = new FakeClock();
  let writes = 0;
  const setFinalizers: NodePoolsClient['setFinalizers'] = async (read: NodePool, finalizers) => {
    writes++;
    return { kind: 'written', pool: { ...read, metadata: { ...read.metadata, finalizers } } };
  };
  const cluster = { pools: { setFinalizers: setFinalizers, fieldManager: poolFieldManager } } as unknown as ClusterPort;
  const pool = aPool({}, {});
  const bare: NodePool = { ...pool, metadata: { ...pool.metadata, finalizers: [] } };
  const state = new ClusterState([bare], [], []);
  const options = reconcilerOptions(cluster, state, { clock });
  return { clock, options, bare, writes: () => writes, add: (from = bare) => addFinalizer(from, options) };
}

const SAYS =
  /^finalizer \S+ of pool worker reached the limit of 10 writes within a minute: something else keeps removing it$/;

test('writes a finalizer that others remove ten times, then once a minute, and reports a failure', async () => {
  const { clock, writes, add } = fakeCluster();
  for (let nth = 0; nth < 10; nth++) await add();
  await assert.rejects(add(), { message: SAYS, isThrottled: false, retryAfterMs: 60_000 });
  await clock.advance(59_999);
  await assert.rejects(add(), { message: SAYS, isThrottled: true, retryAfterMs: 1 });
  assert.equal(writes(), 10);
  await clock.advance(1);
  // It is written; whether it stays is unknown until 10 s later.
  await assert.rejects(add(), { message: SAYS, isThrottled: true, retryAfterMs: 10_000 });
  assert.equal(writes(), 11);
  await assert.rejects(add(), { message: SAYS, isThrottled: false, retryAfterMs: 60_000 });
  await clock.advance(60_000);
  await assert.rejects(add(), { message: SAYS });
  const { bare } = fakeCluster();
  const held = { ...bare, metadata: { ...bare.metadata, finalizers: [FINALIZER] } };
  await assert.rejects(add(held), { isThrottled: true });
  await clock.advance(10_000);
  assert.deepEqual((await add(held))?.metadata.finalizers, [FINALIZER]);
  for (let nth = 0; nth < 9; nth++) await add();
  assert.equal(writes(), 21);
});

test('names a known field manager, and tolerates an unreadable one', async () => {
  const known = fakeCluster(async () => 'rival');
  for (let nth = 0; nth < 10; nth++) await known.add();
  await assert.rejects(known.add(), /something else \(field manager rival\) keeps removing it$/);
  const refused = fakeCluster(async () => {
    throw new NodepoolError('cluster', 'forbidden');
  });
  for (let nth = 0; nth < 10; nth++) await refused.add();
  await assert.rejects(refused.add(), { message: SAYS });
  const broken = fakeCluster(async () => {
    throw new TypeError('a bug');
  });
  for (let nth = 0; nth < 10; nth++) await broken.add();
  await assert.rejects(broken.add(), TypeError);
});

test('does not delay the deletion of a pool', async () => {
  const { options, bare, writes, add } = fakeCluster();
  for (let nth = 0; nth < 10; nth++) await add();
  const metadata = { ...bare.metadata, finalizers: [FINALIZER], deletionTimestamp: '2026-01-01T00:00:00Z' };
  await dropFinalizer({ ...bare, metadata }, options);
  assert.equal(writes(), 11);
});

const P = { name: 'p', uid: 'u', generation: 1 };

test('doubles the delay of an altered status until the server stores it as sent', () => {
  const clock = new FakeClock();
  const writeLimiter = new WriteRateLimiter(clock);
  const altered = new NodepoolError('cluster', 'the status of pool p was changed');
  const written = (error?: NodepoolError) => statusWritten(P, error, writeLimiter)?.retryAfterMs;
  assertStatusFree(P, writeLimiter);
  assert.equal(written(altered), 1_000);
  assert.throws(() => assertStatusFree(P, writeLimiter), {
    message: altered.message,
    isThrottled: true,
    retryAfterMs: 1_000,
  });
  assertStatusFree({ ...P, generation: 2 }, writeLimiter);
  clock.freeze(1_000);
  assertStatusFree(P, writeLimiter);
  assert.equal(written(altered), 2_000);
  clock.freeze(2_000);
  assert.equal(written(), undefined);
  assert.equal(written(altered), 1_000);
});
