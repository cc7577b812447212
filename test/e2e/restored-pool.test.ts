/**
 * A cluster state that is ahead of the server, as that of a watch is after a restore of etcd until its caches notice. With
 * a real restore: fault/restore.test.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadClusterState } from '../../src/commands/shared/pools/load-cluster-state.ts';
import { systemClock } from '../../src/controller/clock.ts';
import { createLimiter } from '../../src/controller/limiter.ts';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { ClusterState } from '../../src/reconciler/state/cluster-state.ts';
import { override } from '../override.ts';
import { aReconciler } from '../unit/reconciler/reconciler-options.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

/** More reads than a reconcile needs: it would go on forever. */
const MANY = 20;

/** The state that was seen, with a later spec of pool w that the server has lost. */
async function stateAhead(cluster: ClusterPort, spec: NodePoolSpec): Promise<ClusterState> {
  const loaded = await loadClusterState(cluster);
  const pools = [...loaded.pools()].map(pool => {
    const { resourceVersion, generation = 0 } = pool.metadata;
    const metadata = {
      ...pool.metadata,
      resourceVersion: String(Number(resourceVersion) + 1_000),
      generation: generation + 1,
    };
    return { ...pool, metadata, spec };
  });
  return new ClusterState(pools, loaded.nodes(), loaded.runtimeClasses());
}

const spec: NodePoolSpec = { labels: { tier: '1' }, handler: 'runc' };
const later: NodePoolSpec = { labels: { tier: '1' } };
for (const hasCaches of [true, false]) {
  test(`a reconcile fails if the server lost the removal of a handler${hasCaches ? '; in a watch' : ''}`, async () => {
    await testEnv.nodes({ name: 'a', labels: role('w') });
    await testEnv.pool('w', spec);
    await testEnv.reconcile();
    const { cluster } = await testEnv.connection();
    let reads = 0;
    const getCoerced = (name: string) => {
      assert.ok(++reads <= MANY, 'it reads the pool without end');
      return cluster.pools.getCoerced(name);
    };
    const reconciler = aReconciler(override(cluster, { pools: { getCoerced } }), await stateAhead(cluster, later), {
      limitObjects: createLimiter(4),
      sleep: ms => sleep(ms),
      clock: systemClock,
      hasCaches,
    });
    await assert.rejects(reconciler.reconcile('w'), {
      message: 'the server returned an older version of pool w than before (etcd was restored)',
      next: 'run `kubectl nodepool reconcile w`',
    });
    assert.equal(reads, 1);
    assert.equal((await testEnv.node('a')).metadata.labels.tier, '1');
    assert.equal((await testEnv.runtimeClass('w'))?.handler, spec.handler);
  });
}
