/**
 * Killed after any write of a reconcile that keeps a revision: the next run ends in the same history, without extra creates,
 * updates and deletes. The kill is simulated, as in reconcile-killed.test.ts; test/fault/killed.test.ts kills processes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { wrapped } from '../override.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const NAMES = ['a', 'b', 'c'];

class Killed extends Error {}

/** Forwards calls until the Nth write got its response; counts the writes of revisions. */
async function killAfter(writes: number, counts: Record<string, number>): Promise<ClusterPort> {
  const { cluster } = await testEnv.connection();
  let left = writes;
  return wrapped(cluster, (name, call) => async (...args) => {
    if (left <= 0) throw new Killed();
    const result = await call(...args);
    if (/\.(list|get|heads)/.test(name)) return result;
    if (name.startsWith('revisions.')) counts[name] = (counts[name] ?? 0) + 1;
    if (--left <= 0) throw new Killed();
    return result;
  });
}

async function run(cluster: ClusterPort): Promise<'done' | 'killed'> {
  try {
    await testEnv.reconcileWith(cluster);
    return 'done';
  } catch (error) {
    if (error instanceof Killed) return 'killed';
    throw error;
  }
}

/** So many specs were reconciled, and the next spec is in the pool. */
async function prepare(next: string, specs: number): Promise<void> {
  await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { rollout: {}, handler: 'runc', labels: { tier: '0' } });
  for (let at = 1; at <= specs; at++) {
    await testEnv.reconcile();
    await tier(at === specs ? next : String(at));
  }
}

const tier = (value: string) => testEnv.edit('web', { spec: { labels: { tier: value } } });

async function endState() {
  const revisions = await testEnv.revisions();
  return {
    revisions: revisions.map(({ metadata, revision, data }) => [
      metadata.name,
      revision,
      (data as { spec: NodePoolSpec }).spec,
    ]),
    tiers: await Promise.all(NAMES.map(async name => (await testEnv.node(name)).metadata.labels.tier)),
  };
}

for (const { what, next, specs, kept, expected } of [
  {
    what: 'a new spec, which removes the oldest',
    next: 'new',
    // As many former ones as are kept.
    specs: 12,
    kept: 11,
    expected: { 'revisions.create': 1, 'revisions.delete': 1 },
  },
  { what: 'a spec that returns', next: '1', specs: 3, kept: 3, expected: { 'revisions.update': 1 } },
]) {
  test(`${what}: killed after each write`, { timeout: 300_000 }, async t => {
    await prepare(next, specs);
    const faultless: Record<string, number> = {};
    assert.equal(await run(await killAfter(Number.POSITIVE_INFINITY, faultless)), 'done');
    const wanted = await endState();
    assert.equal(wanted.revisions.length, kept);
    assert.deepEqual(faultless, expected);
    for (let writes = 1; ; writes++) {
      await testEnv.clean();
      await prepare(next, specs);
      const counts: Record<string, number> = {};
      const outcome = await run(await killAfter(writes, counts));
      assert.equal(await run(await killAfter(Number.POSITIVE_INFINITY, counts)), 'done');
      assert.deepEqual(await endState(), wanted, `killed after write ${writes}`);
      assert.deepEqual(counts, expected, `killed after write ${writes}`);
      if (outcome === 'done') {
        t.diagnostic(`killed after each of ${writes - 1} writes`);
        assert.ok(writes > 5);
        return;
      }
    }
  });
}
