/** A pool with a deletionTimestamp that a restored etcd has without one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, PoolWrite } from '../../../src/kube/cluster.ts';
import { FINALIZER, type NodePool, type NodePoolStatus } from '../../../src/nodepool/types.ts';
import { Reconciler } from '../../../src/reconciler/reconciler.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { dropFinalizer } from '../../../src/reconciler/write/pool-metadata.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';
import { reconcilerOptions } from './reconciler-options.ts';

const LABELS = { 'node-role.kubernetes.io/worker': '', tier: 'gold' };
const SPEC = { labels: { tier: 'gold' } };
const METADATA = { name: 'worker', finalizers: [FINALIZER] };
const marked = aPool(SPEC, { ...METADATA, resourceVersion: '20', deletionTimestamp: '2026-01-02T00:00:00Z' });
const restored = (resourceVersion: string) => aPool(SPEC, { ...METADATA, resourceVersion });

function create(live: NodePool, dryRun: boolean) {
  const writes: string[] = [];
  const node = aNode({ name: 'a', labels: LABELS, record: recordOf({ pool: 'worker', labels: { tier: 'gold' } }) });
  const state = new ClusterState([marked], [node], []);
  const guarded = (pool: NodePool, write: PoolWrite): PoolWrite =>
    pool.metadata.resourceVersion === live.metadata.resourceVersion || dryRun ? write : { kind: 'conflict' };
  const cluster = {
    isDryRun: dryRun,
    createEvent: async () => {},
    pools: {
      getCoerced: async () => live,
      setFinalizers: async (pool: NodePool, finalizers: string[]) => {
        const write = guarded(pool, { kind: 'written', pool: { ...pool, metadata: { ...pool.metadata, finalizers } } });
        writes.push(`finalizers ${write.kind}`);
        return write;
      },
      patchStatus: async (pool: NodePool, status: NodePoolStatus) =>
        guarded(pool, { kind: 'written', pool: { ...pool, status } }),
    },
    nodes: {
      patch: async (name: string) => {
        writes.push(`node ${name}`);
        return { kind: 'written', node: aNode({ name, resourceVersion: '8', labels: {} }) };
      },
    },
  } as unknown as ClusterPort;
  const options = reconcilerOptions(cluster, state, { now: () => new Date('2026-01-03T00:00:00Z') });
  return { writes, state, options, reconciler: new Reconciler(options) };
}

const NOT_DELETED = { kind: 'cluster', message: /^pool worker is no longer being deleted: / };

test('does not release nodes: reconciles the pool, or fails when its resourceVersion went back', async () => {
  const later = create(restored('30'), false);
  assert.equal((await later.reconciler.reconcile('worker')).kind, 'reconciled');
  assert.equal(later.state.isActive('worker'), true);
  assert.deepEqual(later.writes, []);
  const earlier = create(restored('10'), false);
  await assert.rejects(earlier.reconciler.reconcile('worker'), NOT_DELETED);
  assert.deepEqual(earlier.writes, []);
});

test('keeps its finalizer', async () => {
  const { writes, state, options } = create(restored('10'), false);
  await assert.rejects(dropFinalizer(marked, options), NOT_DELETED);
  assert.deepEqual(writes, ['finalizers conflict']);
  assert.ok(state.pool('worker'));
});

test('completes a dry run, whose deletionTimestamp exists only in the state', async () => {
  const { writes, reconciler } = create(restored('10'), true);
  assert.equal((await reconciler.reconcile('worker')).kind, 'released');
  assert.deepEqual(writes, ['node a', 'finalizers written']);
});
