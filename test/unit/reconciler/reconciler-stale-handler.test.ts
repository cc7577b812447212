/** A pool without a handler here, which may have one on the server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../src/kube/cluster.ts';
import { FINALIZER, type NodePool, type NodePoolStatus } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { aPool } from '../nodepool/fixtures.ts';
import { aReconciler } from './reconciler-options.ts';
import { owned } from './runtime-class-server.ts';

const METADATA = { name: 'worker', uid: 'uid-worker', finalizers: [FINALIZER] };
const known = aPool({}, { ...METADATA, resourceVersion: '10' });

/** @param live undefined: it was deleted @returns the requests, without those of status and Events */
async function requestsOf(live: NodePool | undefined, hasClass = true): Promise<string[]> {
  const requests: string[] = [];
  const cluster = {
    createEvent: async () => {},
    pools: {
      getCoerced: async () => {
        requests.push('get pool');
        return live;
      },
      annotate: async (pool: NodePool) => ({ kind: 'written', pool }),
      patchStatus: async (pool: NodePool, status: NodePoolStatus) => ({ kind: 'written', pool: { ...pool, status } }),
    },
    runtimeClasses: {
      delete: async () => {
        requests.push('delete RuntimeClass');
        return 'deleted';
      },
    },
  } as unknown as ClusterPort;
  const reconciler = aReconciler(cluster, new ClusterState([known], [], hasClass ? [owned()] : []), {
    now: () => new Date('2026-01-03T00:00:00Z'),
  });
  await reconciler.reconcile('worker');
  return requests;
}

test('reads the pool before it deletes the RuntimeClass, and keeps it if the pool has a handler', async () => {
  const withHandler = (resourceVersion: string) => aPool({ handler: 'runc' }, { ...METADATA, resourceVersion });
  assert.deepEqual(await requestsOf(known), ['get pool', 'delete RuntimeClass']);
  assert.deepEqual(await requestsOf(withHandler('11')), ['get pool']);
  // A restored etcd: the cluster state does not go back to an older resourceVersion.
  await assert.rejects(requestsOf(withHandler('9')), /etcd was restored/);
  assert.deepEqual(await requestsOf(undefined), ['get pool']);
  assert.deepEqual(await requestsOf(known, false), []);
});
