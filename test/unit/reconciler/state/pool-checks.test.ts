import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../../src/controller/clock.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { ChangedMeanwhile, MAX_AGE_MS, SpecChangedError } from '../../../../src/reconciler/state/pool-checks.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';
import { reconcilerOptions } from '../reconciler-options.ts';

/** A run without caches that began long ago, on a server that has the pool. */
function create({ aheadMs = 10 * MAX_AGE_MS, madeAt = 0 } = {}) {
  const pool = aPool({ labels: { tier: 'x' } });
  const state = Object.assign(new ClusterState([pool], [], []), { madeAt });
  let [reads, lateMs] = [0, aheadMs];
  const server = { pool };
  const getCoerced = async () => {
    reads++;
    return server.pool;
  };
  const cluster = { isDryRun: false, pools: { getCoerced } } as never;
  const clock = { now: () => systemClock.now() + lateMs };
  const changed = new ChangedMeanwhile(reconcilerOptions(cluster, state, { clock }));
  const isPaused = async () =>
    (await changed.check({ kind: 'same', node: aNode(), previous: undefined, owner: 'worker' })) === 'paused';
  const later = (ms: number) => {
    lateMs += ms;
  };
  return { pool, state, server, isPaused, later, reads: () => reads };
}

test('reads a pool once within a second', async () => {
  const { isPaused, later, reads } = create();
  assert.equal(await isPaused(), false);
  await isPaused();
  assert.equal(reads(), 1);
  later(MAX_AGE_MS);
  await isPaused();
  assert.equal(reads(), 2);
});

test('throws for an edited pool, even when a recent read or write saves the read', async () => {
  const { pool, state, server, isPaused, later } = create();
  const edited = { ...pool, spec: { labels: { tier: 'y' } }, metadata: { ...pool.metadata, resourceVersion: '9' } };
  server.pool = edited;
  await assert.rejects(isPaused(), SpecChangedError);
  await assert.rejects(isPaused(), SpecChangedError);
  later(MAX_AGE_MS);
  state.setPool(edited);
  await assert.rejects(isPaused(), SpecChangedError);
});

test('the response to a write of the pool counts as a read', async () => {
  const { pool, state, isPaused, reads } = create({ aheadMs: 0, madeAt: Number.NEGATIVE_INFINITY });
  state.setPool({ ...pool, metadata: { ...pool.metadata, resourceVersion: '9' } });
  await isPaused();
  assert.equal(reads(), 0);
});
