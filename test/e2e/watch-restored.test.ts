/** A manager that detects a restore of etcd while a reconcile is in flight. With a real restore: fault/restore.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoolMetrics } from '../../src/commands/reconcile/pool-metrics.ts';
import { createWatch } from '../../src/commands/reconcile/watch.ts';
import { systemClock } from '../../src/controller/clock.ts';
import { Registry } from '../../src/controller/metrics.ts';
import { standardMetrics } from '../../src/controller/standard-metrics.ts';
import { override } from '../override.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('a reconcile in progress begins no further work after a restore, and the manager ends', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: '1' }, rollout: { maxConcurrent: 1 } });
  await testEnv.edit('w', { spec: { labels: { tier: '2' } } });
  const { cluster, pods, events } = await testEnv.connection();
  const [reading, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const heads = async (pool?: string) => {
    reading.resolve();
    await opened.promise;
    return cluster.revisions.heads(pool);
  };
  const registry = new Registry();
  const { manager } = createWatch(
    { concurrency: 4, resyncMs: 60_000, podCounts: false },
    {
      cluster: override(cluster, { revisions: { heads } }),
      pods,
      events,
      lease: undefined,
      identity: 'test',
      clock: systemClock,
      now: () => new Date(),
      random: Math.random,
      newId: () => '1',
      log: () => {},
      metrics: standardMetrics(registry),
      poolMetrics: new PoolMetrics(registry, { now: () => new Date(), version: '0.0.0' }),
      onChanged: () => {},
    },
  );
  const run = manager.run();
  await reading.promise;
  manager.restored();
  opened.resolve();
  assert.equal(await run, 'restored');
  assert.equal((await testEnv.node('a')).metadata.labels.tier, undefined);
});
