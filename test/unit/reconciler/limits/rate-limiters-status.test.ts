import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../src/kube/cluster.ts';
import { FINALIZER, type NodePool, type NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { StatusRateLimiter } from '../../../../src/reconciler/limits/rate-limiters.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import type { Overrides } from '../../../override.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';
import { aReconciler } from '../reconciler-options.ts';

const BUSY = { name: 'busy', uid: 'u', generation: 1 };

test('allows a pool a burst of 20 status writes, then one every 2 s', () => {
  const clock = new FakeClock();
  const limiter = new StatusRateLimiter(clock);
  const times: number[] = [];
  for (; clock.now() < 60_000; clock.freeze(100)) {
    if (limiter.wait(BUSY) > 0) continue;
    limiter.written(BUSY);
    times.push(clock.now());
  }
  assert.equal(times.filter(at => at <= 2_000).length, 20 + 1);
  assert.equal(times.length, 20 + 29);
  limiter.written(BUSY);
  const ms = limiter.wait(BUSY);
  assert.equal(ms, 2_000);
  assert.equal(limiter.wait({ name: 'other' }), 0);
  clock.freeze(ms);
  assert.equal(limiter.wait(BUSY), 0, 'it says when the next one is allowed');
  for (clock.freeze(40_000); limiter.wait(BUSY) === 0; limiter.written(BUSY)) times.push(clock.now());
  assert.equal(times.length, 49 + 20, 'all of the burst comes back in a quiet time');
});

test('does not delay the first status of a spec or of a recreated pool', () => {
  const limiter = new StatusRateLimiter(new FakeClock());
  for (let times = 0; times < 20; times++) limiter.written(BUSY);
  assert.equal(limiter.wait(BUSY), 2_000);
  assert.equal(limiter.wait({ ...BUSY, uid: 'another' }), 0);
  const edited = { ...BUSY, generation: 2 };
  assert.equal(limiter.wait(edited), 0);
  limiter.written(edited);
  assert.equal(limiter.wait(edited), 4_000);
});

const LABELS = { 'node-role.kubernetes.io/worker': '' };

/** A pool of one node, and its status writes. */
function create(statusLimiter?: StatusRateLimiter) {
  const metadata = { name: 'worker', resourceVersion: '10', finalizers: [FINALIZER], generation: 1 };
  const state = new ClusterState([aPool({}, metadata)], [aNode({ name: 'a', labels: LABELS })], []);
  const clock = new FakeClock();
  const written: NodePoolStatus[] = [];
  const events: string[] = [];
  const cluster = {
    createEvent: async (_pool, { reason }) => {
      events.push(reason);
    },
    nodes: {
      patch: async (_name, { resourceVersion: _, ...patch }) => {
        const node = {
          ...(state.node('a') ?? assert.fail()),
          ...(patch.record == null ? {} : { record: patch.record }),
        };
        return { kind: 'written', node };
      },
    },
    pools: {
      patchStatus: async (pool: NodePool, status: NodePoolStatus) => {
        written.push(status);
        const resourceVersion = String(Number(pool.metadata.resourceVersion) + 1);
        return { kind: 'written', pool: { ...pool, status, metadata: { ...pool.metadata, resourceVersion } } };
      },
    },
  } satisfies Overrides as unknown as ClusterPort;
  const reconciler = aReconciler(cluster, state, {
    now: clock.wall,
    clock,
    hasCaches: true,
    ...(statusLimiter === undefined ? {} : { statusLimiter }),
  });
  const flip = (round: number) => {
    state.setNode({
      ...(state.node('a') ?? assert.fail()),
      ready: round % 2 === 0,
      resourceVersion: String(100 + round),
    });
    return reconciler.reconcile('worker');
  };
  return { state, clock, written, events, reconciler, flip };
}

test('writes the latest state of a delayed status, and sends no Event earlier', async () => {
  const clock = new FakeClock();
  const { state, written, events, reconciler, flip } = create(new StatusRateLimiter(clock));
  for (let round = 1; written.length < 20; round++) await flip(round);
  const reported = events.length;
  const held = await flip(1_001);
  assert.deepEqual([held.kind, held.statusWritten, held.failures, held.retryAfterMs], ['reconciled', false, [], 2_000]);
  await flip(1_002);
  const last = await flip(1_003);
  assert.equal(last.retryAfterMs, 2_000);
  assert.deepEqual([written.length, events.length], [20, reported]);
  clock.freeze(2_000);
  const { status, statusWritten } = await reconciler.reconcile('worker');
  assert.deepEqual([status?.readyNodeCount, statusWritten, written.length], [0, true, 21]);
  assert.deepEqual(state.pool('worker')?.status, status);
});

test('writes the status of a new spec at once', async () => {
  const { state, written, reconciler, flip } = create(new StatusRateLimiter(new FakeClock()));
  for (let round = 1; written.length < 20; round++) await flip(round);
  assert.equal((await flip(1_001)).statusWritten, false);
  const pool = state.pool('worker') ?? assert.fail();
  state.setPool({ ...pool, metadata: { ...pool.metadata, generation: 2, resourceVersion: '500' } });
  const { status, statusWritten } = await reconciler.reconcile('worker');
  assert.deepEqual([statusWritten, status?.observedGeneration, status?.readyNodeCount], [true, 2, 0]);
});

test('does not delay the status in a single run', async () => {
  const { written, flip } = create();
  for (let round = 1; round <= 40; round++) assert.equal((await flip(round)).statusWritten, true);
  assert.equal(written.length, 40);
});
