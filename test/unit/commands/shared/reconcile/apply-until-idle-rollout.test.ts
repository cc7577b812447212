/** One-shot drains of a pool with spec.rollout: readiness is what the run read at its start. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilIdle } from '../../../../../src/commands/shared/reconcile/apply.ts';
import type { ClusterPort, NodePatch } from '../../../../../src/kube/cluster.ts';
import { rolloutHash } from '../../../../../src/nodepool/rollout/rollout.ts';
import { FINALIZER, type Node, type NodePool, type NodePoolStatus } from '../../../../../src/nodepool/types.ts';
import { patchedNode } from '../../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { NO_HISTORY } from '../../../../override.ts';
import { FakeClock } from '../../../controller/fake-clock.ts';
import { aNode, aPool, recordOf, taint } from '../../../nodepool/fixtures.ts';
import { aReconciler } from '../../../reconciler/reconciler-options.ts';

const START = Date.parse('2026-05-01T12:00:00Z');
const ROLE = { 'node-role.kubernetes.io/worker': '' };

test('starts no further node during evictions, even if a slot becomes free', async () => {
  const pool: NodePool = aPool(
    {
      noExecute: 'Drain',
      taints: [taint('dedicated=x:NoExecute')],
      rollout: { maxConcurrent: 2, settleSeconds: 60 },
    },
    { finalizers: [FINALIZER] },
  );
  const old = (name: string) =>
    aNode({ name, uid: name, labels: ROLE, record: recordOf({ pool: 'worker' }), readySince: 1e9 });
  const live = new Map(['a', 'b', 'c'].map(name => [name, old(name)]));
  const state = new ClusterState([pool], [...live.values()], []);
  const clock = new FakeClock();
  const store = (node: Node) => {
    const stored = { ...node, resourceVersion: String(Number(node.resourceVersion) + 1) };
    live.set(node.name, stored);
    return stored;
  };
  const known = (name: string) => live.get(name) ?? assert.fail();
  const cluster = {
    createEvent: async () => {},
    nodes: {
      serverTime: () => new Date(START + clock.now()),
      get: async (name: string) => known(name),
      patch: async (name: string, patch: NodePatch) => {
        const node = known(name);
        if (node.resourceVersion !== patch.resourceVersion) return { kind: 'conflict' };
        return { kind: 'written', node: store(patchedNode(node, patch)) };
      },
    },
    pools: {
      getCoerced: async () => state.pool('worker'),
      get: async () => state.pool('worker'),
      patchStatus: async (of: NodePool, status: NodePoolStatus) => ({ kind: 'written', pool: { ...of, status } }),
    },
    revisions: NO_HISTORY,
    evictions: async () => ({
      podsOn: async (name: string) =>
        name !== 'b'
          ? []
          : [
              {
                ...{ namespace: 'ns', name: 'p', uid: 'p', phase: 'Running', labels: {}, isReady: true },
                ...{ isMirror: false, hasEmptyDir: false },
                placement: { nodeSelector: {}, nodeTerms: undefined, tolerations: [] },
              },
            ],
      evict: async () => ({ kind: 'budget', budget: 'web', message: 'needs 1' }),
    }),
  } as unknown as ClusterPort;
  const sleep = async (ms: number) => {
    await clock.advance(ms);
    const a = known('a');
    // The taint breaks it, which a run without caches does not see.
    if (a.ready && a.taints.some(({ effect }) => effect === 'NoExecute'))
      store({ ...a, ready: false, readySince: Math.floor((START + clock.now()) / 1000) });
  };
  const reconciler = aReconciler(cluster, state, { now: () => new Date(START + clock.now()), sleep, clock });
  let isDone = false;
  const run = untilIdle(['worker'], reconciler, { cluster, state, clock, timeoutMs: 200_000 }).finally(() => {
    isDone = true;
  });
  while (!isDone) await sleep(1_000);
  await run;
  assert.equal(rolloutHash(pool), JSON.parse(known('a').record ?? '{}').rollout);
  const taints = ['a', 'b', 'c'].map(name =>
    known(name)
      .taints.map(({ effect }) => effect)
      .join(),
  );
  assert.deepEqual(taints, ['NoExecute', 'NoSchedule', '']);
});
