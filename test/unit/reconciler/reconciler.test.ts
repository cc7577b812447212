/** Cases that need a fake server; test/e2e and test/fault have the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort, PoolWrite } from '../../../src/kube/cluster.ts';
import { ForbiddenError, NodepoolError } from '../../../src/nodepool/errors.ts';
import { FINALIZER, type Node, type NodePool, type NodePoolStatus } from '../../../src/nodepool/types.ts';
import { WriteError } from '../../../src/reconciler/outcome.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { type Overrides, override } from '../../override.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';
import { aReconciler } from './reconciler-options.ts';

const ROLE = { 'node-role.kubernetes.io/worker': '' };
const METADATA = { name: 'worker', resourceVersion: '10', finalizers: [FINALIZER] };

/** A reconciler with a fake server, and what it writes. */
function create(pools: NodePool[], nodes: Node[], answers: Overrides) {
  const state = new ClusterState(pools, nodes, []);
  const reported: string[] = [];
  state.observe({ concerned: names => reported.push(...names), nodeGone: () => {} });
  const cluster = override({ createEvent: async () => {} } as unknown as ClusterPort, answers);
  const now = () => new Date('2026-01-01T00:00:00Z');
  const reconciler = aReconciler(cluster, state, { now, hasCaches: true });
  return { state, reported, reconciler };
}

/** The response to a status write, with a later resourceVersion. */
function withStatus(pool: NodePool, status: NodePoolStatus): NodePool {
  const resourceVersion = String(Number(pool.metadata.resourceVersion) + 1);
  return { ...pool, status, metadata: { ...pool.metadata, resourceVersion } };
}

test('its own status write enqueues nothing, in any order of response and event', async () => {
  let failures = 0;
  for (const first of ['answer', 'cache'] as const) {
    const { state, reported, reconciler } = create(
      [aPool({ labels: { tier: 'gold' } }, METADATA)],
      [aNode({ name: 'a', labels: ROLE })],
      {
        nodes: {
          patch: async () => {
            throw new NodepoolError('cluster', `cannot patch Node "a": connection ${failures++} reset`);
          },
        },
        pools: {
          patchStatus: async (pool, status): Promise<PoolWrite> => {
            const written = withStatus(pool, status);
            if (first === 'cache') state.setPool(structuredClone(written));
            return { kind: 'written', pool: written };
          },
        },
      },
    );
    const [before, after] = [await reconciler.reconcile('worker'), await reconciler.reconcile('worker')];
    assert.notDeepEqual(before.status?.conditions, after.status?.conditions);
    assert.deepEqual(reported, [], first);
    const pool = state.pool('worker') ?? assert.fail();
    state.setPool(withStatus(pool, { ...(pool.status ?? assert.fail()), nodeCount: 7 }));
    assert.deepEqual(reported, ['worker'], 'what somebody else wrote into it is put right');
  }
});

test('a pool is Stalled while a write fails, including a retried write', async () => {
  const errors = [
    new NodepoolError('cluster', 'overloaded', 'try again', { isTransient: true }),
    new NodepoolError('cluster', 'somebody else changed it at the same time'),
    new ForbiddenError('lacks the permission', ['verb patch on nodes']),
    new NodepoolError('cluster', 'a policy denied it', undefined, { isPermanent: true }),
    new NodepoolError('input', 'invalid'),
  ];
  const held = (error: NodepoolError) => new WriteError(error, { retryAfterMs: 1, isThrottled: true });
  for (const error of errors.flatMap(each => [each, held(each)])) {
    const { reconciler } = create(
      [aPool({ labels: { tier: 'gold' } }, METADATA)],
      [aNode({ name: 'a', labels: ROLE })],
      {
        nodes: { patch: async () => Promise.reject(error) },
        pools: { patchStatus: async (pool, status) => ({ kind: 'written', pool: withStatus(pool, status) }) },
      },
    );
    const { status } = await reconciler.reconcile('worker');
    assert.equal(status?.status, 500);
    const stalled = status.conditions?.filter(({ type }) => type === 'Stalled').map(({ reason }) => reason);
    assert.deepEqual(stalled, ['WriteFailed'], error.message);
  }
});

test('reads an unknown pool in a record before it releases the node', async () => {
  const record = recordOf({ pool: 'worker', labels: { tier: 'gold' } });
  const node = aNode({ name: 'a', labels: { ...ROLE, tier: 'gold' }, record });
  const pool = aPool({ labels: { tier: 'gold' } }, METADATA);
  const { state, reconciler } = create([], [node], {
    pools: {
      getCoerced: async () => pool,
      patchStatus: async (read, status) => ({ kind: 'written', pool: withStatus(read, status) }),
    },
  });
  const first = await reconciler.reconcile('worker');
  assert.deepEqual([first.moves, first.isChanged], [[], true]);
  const outcome = await reconciler.reconcile('worker');
  assert.deepEqual([outcome.kind, outcome.moves, outcome.status?.nodeCount], ['reconciled', [], 1]);
  assert.equal(state.pool('worker')?.status?.nodeCount, 1);
});

test('reads a deleted pool once, and releases its node', async () => {
  const record = recordOf({ pool: 'worker', labels: { tier: 'gold' } });
  let asked = 0;
  const { reconciler } = create([], [aNode({ name: 'a', labels: { tier: 'gold' }, record })], {
    pools: {
      getCoerced: async () => {
        asked += 1;
        return undefined;
      },
    },
    nodes: {
      patch: async () => ({ kind: 'written', node: aNode({ name: 'a', resourceVersion: '8' }) }),
    },
  });
  const { kind, moves } = await reconciler.reconcile('worker');
  assert.deepEqual(
    [kind, moves.map(({ node, from, to }) => [node, from, to])],
    ['released', [['a', 'worker', undefined]]],
  );
  assert.equal((await reconciler.reconcile('worker')).moves.length, 0);
  assert.equal(asked, 1);
});

test('rebuilds a status after a conflict, and keeps the status of a later spec', async () => {
  const billed = {
    type: 'Billed',
    status: 'True',
    reason: 'X',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  } as const;
  const pool = aPool({}, METADATA);
  for (const observedGeneration of [1, 2]) {
    const latest: NodePool = {
      ...withStatus(pool, { status: 503, nodeCount: 9, observedGeneration, conditions: [billed] as never }),
      metadata: { ...pool.metadata, resourceVersion: '11', generation: observedGeneration },
    };
    const written: NodePoolStatus[] = [];
    const { reconciler } = create([pool], [aNode({ name: 'a', labels: ROLE, record: recordOf({ pool: 'worker' }) })], {
      pools: {
        getCoerced: async () => latest,
        patchStatus: async (read, status): Promise<PoolWrite> => {
          if (read.metadata.resourceVersion !== '11') return { kind: 'conflict' };
          written.push(status);
          return { kind: 'written', pool: withStatus(read, status) };
        },
      },
    });
    const { status } = await reconciler.reconcile('worker');
    assert.ok(status?.conditions?.some(({ type }) => String(type) === 'Billed'));
    assert.equal(written.length, observedGeneration === 1 ? 1 : 0);
    assert.equal(status?.nodeCount, observedGeneration === 1 ? 1 : 9);
  }
});
