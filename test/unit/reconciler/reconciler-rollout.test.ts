/** Reconciles of a pool with spec.rollout on a fake server: what triggers the next step, and nodes that cannot be written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, NodePatch, RawPool } from '../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { type ControllerRevision, revisionHead } from '../../../src/nodepool/rollout/revisions.ts';
import { rolloutHash } from '../../../src/nodepool/rollout/rollout.ts';
import { FINALIZER, type Node, type NodePool, type NodePoolStatus } from '../../../src/nodepool/types.ts';
import { patchedNode } from '../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { override } from '../../override.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';
import { aReconciler } from './reconciler-options.ts';

const ROLE = { 'node-role.kubernetes.io/worker': '' };
const METADATA = { resourceVersion: '10', generation: 2, finalizers: [FINALIZER] };
const CHANGED = '2026-01-01T00:00:00Z';
const LONG_AGO = 1e9;
const of = (name: string, tier: string, stamp = {}): Node =>
  aNode({
    name,
    uid: name,
    labels: { ...ROLE, tier },
    record: recordOf({ pool: 'worker', labels: { tier }, ...stamp }),
    readySince: LONG_AGO,
  });
const old = (name: string) => of(name, '1');

function withStatus(pool: NodePool, status: NodePoolStatus): NodePool {
  const resourceVersion = String(Number(pool.metadata.resourceVersion) + 1);
  return { ...pool, status, metadata: { ...pool.metadata, resourceVersion } };
}

/** @param now read at each look */
function begin(
  pool: NodePool,
  nodes: Node[],
  now: () => number,
  refuses: (name: string) => boolean = () => false,
  isUnread: () => boolean = () => false,
) {
  const state = new ClusterState([pool], nodes, []);
  const tried: string[] = [];
  const kept: ControllerRevision[] = [];
  const cluster = override({ createEvent: async () => {} } as unknown as ClusterPort, {
    nodes: {
      get: async (name: string) => {
        if (isUnread()) throw new NodepoolError('cluster', 'no answer');
        return state.node(name);
      },
      patch: async (name: string, patch: NodePatch) => {
        tried.push(name);
        const node = state.node(name);
        if (node === undefined || refuses(name)) throw new NodepoolError('cluster', `node ${name} was refused`);
        return { kind: 'written', node: { ...patchedNode(node, patch), resourceVersion: `${node.resourceVersion}0` } };
      },
    },
    revisions: {
      heads: async () => kept.map(revisionHead),
      create: async (revision: ControllerRevision) => {
        kept.push(revision);
        return { kind: 'created', revision };
      },
    },
    pools: {
      get: async (name: string) => state.pool(name) as RawPool | undefined,
      patchStatus: async (of: NodePool, status: NodePoolStatus) => ({ kind: 'written', pool: withStatus(of, status) }),
    },
  });
  let last = 0;
  const wall = () => {
    last = now();
    return new Date(last);
  };
  // Both clocks agree.
  const clocks = { now: wall, clock: { now: () => last } };
  const reconciler = aReconciler(cluster, state, { ...clocks, hasCaches: true });
  return { reconciler, tried, state };
}

test('wakes the pool when a node settles during a reconcile', async () => {
  const pool = aPool({ labels: { tier: '2' }, rollout: { maxConcurrent: 1, settleSeconds: 60 } }, METADATA);
  const settling = of('a', '2', { changed: CHANGED, rollout: rolloutHash(pool) });
  // 62 s: see the margin in rollout-step.ts.
  let ms = Date.parse(CHANGED) + 61_999;
  const { reconciler, tried } = begin(pool, [settling, old('b'), old('c')], () => ms++);
  const { retryAfterMs } = await reconciler.reconcile('worker');
  assert.deepEqual([tried, retryAfterMs], [[], 1]);
  await reconciler.reconcile('worker');
  assert.deepEqual(tried, ['b']);
});

test('settling nodes do not wake a paused pool', async () => {
  const pool = aPool({ labels: { tier: '2' }, paused: true, rollout: { settleSeconds: 60 } }, METADATA);
  const settling = of('a', '2', { changed: CHANGED, rollout: rolloutHash(pool) });
  const { reconciler } = begin(pool, [settling, old('b')], () => Date.parse(CHANGED));
  assert.equal((await reconciler.reconcile('worker')).retryAfterMs, undefined);
});

test('a node that is refused or has a too large record does not block others', async () => {
  const pool = aPool({ labels: { tier: '2' }, rollout: { maxConcurrent: 1, settleSeconds: 0 } }, METADATA);
  const { reconciler, tried } = begin(
    pool,
    [old('a'), old('b'), old('c')],
    () => Date.parse(CHANGED),
    name => name === 'a',
  );
  for (let at = 0; at < 4; at++) await reconciler.reconcile('worker');
  assert.deepEqual(tried, ['a', 'b', 'c', 'a']);

  const strip = aPool({ ...pool.spec, unmanaged: 'Remove' }, METADATA);
  const foreign = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`l${at}`, 'x']));
  const large = { ...old('a'), labels: { ...ROLE, tier: '1', ...foreign } };
  const second = begin(strip, [large, old('b'), old('c')], () => Date.parse(CHANGED));
  for (let at = 0; at < 3; at++) {
    const { failures } = await second.reconciler.reconcile('worker');
    assert.match(failures[0]?.message ?? '', /^node a was not written: /, 'it is reported by each reconcile');
  }
  assert.deepEqual(second.tried, ['b', 'c']);
});

test('a node whose write and read got no response keeps its slot until it changes', async () => {
  const pool = aPool({ labels: { tier: '2' }, rollout: { maxConcurrent: 1, settleSeconds: 60 } }, METADATA);
  const isAway = () => true;
  let time = Date.parse(CHANGED);
  const [now, a] = [() => time, old('a')];
  const { reconciler, tried, state } = begin(pool, [a, old('b'), old('c')], now, name => name === 'a', isAway);
  for (let at = 0; at < 2; at++) await reconciler.reconcile('worker');
  assert.deepEqual(tried, ['a', 'a']);
  // It was done.
  state.setNode({ ...of('a', '2', { changed: CHANGED, rollout: rolloutHash(pool) }), resourceVersion: '99' });
  await reconciler.reconcile('worker');
  assert.deepEqual(tried, ['a', 'a'], 'it settles');
  time += 62_000;
  await reconciler.reconcile('worker');
  assert.deepEqual(tried, ['a', 'a', 'b']);
});

test('a rollout whose first status is stopped stays stopped when the failed node is deleted', async () => {
  const progressing = {
    type: 'Progressing',
    status: 'False',
    reason: 'RolloutComplete',
    message: '3 of 3 nodes updated',
    lastTransitionTime: '2001-01-01T00:00:00Z',
    observedGeneration: 1,
  } as const;
  const spec = { labels: { tier: '2' }, rollout: { maxConcurrent: 2, settleSeconds: 60 } };
  const pool = { ...aPool(spec, METADATA), status: { status: 200, nodeCount: 3, conditions: [progressing] } };
  const stamp = { changed: CHANGED, rollout: rolloutHash(pool) };
  const failed = { ...of('a', '2', stamp), ready: false, readySince: Date.parse(CHANGED) / 1000 + 30 };
  let now = Date.parse(CHANGED) + 40_000;
  // The process that wrote a and b was killed before their status.
  const { reconciler, tried, state } = begin(pool, [failed, of('b', '2', stamp), old('c')], () => now);
  await reconciler.reconcile('worker');
  state.removeNode('a', 'a');
  now += 600_000;
  await reconciler.reconcile('worker');
  assert.deepEqual(tried, []);
});
