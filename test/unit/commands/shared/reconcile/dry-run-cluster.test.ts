/** A client dry run gives the result of the run, and asks the server nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reconcile } from '../../../../../src/commands/shared/reconcile/apply.ts';
import { dryRunCluster } from '../../../../../src/commands/shared/reconcile/dry-run-cluster.ts';
import { proposeReconcile } from '../../../../../src/commands/shared/reconcile/propose.ts';
import { systemClock } from '../../../../../src/controller/clock.ts';
import { FINALIZER } from '../../../../../src/nodepool/types.ts';
import { override, wrapped } from '../../../../override.ts';
import { aNode, aPool } from '../../../nodepool/fixtures.ts';
import { member, pool, role, server } from '../fake-server.ts';

const deps = {
  now: () => new Date('2026-01-01T00:00:00Z'),
  clock: systemClock,
  sleep: async () => {},
  warn: () => {},
};

test('returns the result of the run, and sends nothing', async () => {
  const pools = [
    aPool({ labels: { tier: 'x' } }, { name: 'fresh', uid: 'uid-fresh', resourceVersion: '1' }),
    pool('kept', { tier: 'new' }),
    pool('invalid', { 'a b': 'c' }),
    aPool({}, { name: 'gone', uid: 'uid-gone', finalizers: [FINALIZER], deletionTimestamp: '2026-01-01T00:00:00Z' }),
  ];
  const nodes = [
    aNode({ name: 'a', uid: 'uid-a', resourceVersion: '1', labels: role('fresh') }),
    member('b', 'kept', 'old'),
    member('c', 'gone', 'old'),
  ];
  const run = async (dryRun: boolean) => {
    const { cluster, writes } = server(pools, nodes);
    const proposal = await proposeReconcile([], {
      cluster,
      workloads: () => assert.fail('no RuntimeClass is deleted'),
    });
    const target = dryRun ? dryRunCluster(cluster, proposal.state) : cluster;
    const summaries = await reconcile(proposal, { ...deps, concurrency: 4, cluster: target });
    const results = summaries.map(({ pool, outcome, error, joined, left, updated }) => {
      const { status, runtimeClass, failures } = outcome ?? {};
      return { pool, status, runtimeClass, failures, error, joined, left, updated };
    });
    return { results, writes };
  };
  const [dry, real] = [await run(true), await run(false)];
  assert.deepEqual(dry.writes, []);
  assert.ok(real.writes.length > 5);
  assert.deepEqual(dry.results, real.results);
  assert.deepEqual(
    dry.results.map(({ pool, status, joined, left, updated }) => [pool, status?.status, joined, left, updated]),
    [
      ['fresh', 200, 1, 0, 0],
      ['gone', undefined, 0, 1, 0],
      ['invalid', 422, 0, 0, 0],
      ['kept', 200, 0, 0, 1],
    ],
  );
});

test('a rollout that is edited meanwhile has the result of the original spec', async () => {
  const spec = { labels: { tier: 'new' }, rollout: { maxConcurrent: 1 } };
  const known = aPool(spec, { name: 'a', uid: 'uid-a', generation: 2, resourceVersion: '1', finalizers: [FINALIZER] });
  const nodes = [member('a-1', 'a', 'old'), member('a-2', 'a', 'old')];
  const { cluster } = server([known], nodes);
  const proposal = await proposeReconcile([], { cluster, workloads: () => assert.fail('no RuntimeClass is deleted') });
  const edited = { ...known, metadata: { ...known.metadata, generation: 3, resourceVersion: '9' } };
  const asked: string[] = [];
  const meanwhile = wrapped(
    override(cluster, { pools: { get: async () => edited } }),
    (name, call) =>
      async (...args) => {
        // A run that retries forever ends here.
        assert.ok(asked.push(name) < 100, `${asked.length} requests`);
        return call(...args);
      },
  );
  const target = dryRunCluster(meanwhile, proposal.state);
  const [summary] = await reconcile(proposal, { ...deps, concurrency: 4, cluster: target });
  assert.deepEqual([summary?.error, summary?.outcome?.failures, summary?.updated], [undefined, [], 1]);
  assert.deepEqual(asked, []);
});
