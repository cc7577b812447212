/** A guarded write of a pool is refused if the CRD now drops a field of the spec: the server would store the pool without this field. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePool, NodePoolSpec } from '../../src/nodepool/types.ts';
import { useCrd } from './earlier-crd.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

const key = 'a';
/** All fields but those of the earlier operator. The compiler finds one that is missing. */
const LOSABLE: Required<Omit<NodePoolSpec, 'labels' | 'taints' | 'handler'>> = {
  nodeSelector: { a: 'b' },
  matchExpressions: [{ key, operator: 'Exists' }],
  unmanaged: 'Keep',
  annotations: { a: 'b' },
  startupTaints: [{ key, effect: 'NoSchedule', until: { nodeCondition: 'Ready' }, again: 'Boot' }],
  paused: false,
  rollout: { maxConcurrent: 1, canary: '5%', settleSeconds: 0, stopOnNotReady: true },
  noExecute: 'Immediate',
};

test('writes no status, finalizer or annotation when an earlier CRD drops any field', async t => {
  const specs = Object.entries(LOSABLE).map(([field, value]) => [field.toLowerCase(), { [field]: value }] as const);
  for (const [name, spec] of specs) await testEnv.pool(name, spec);
  const { pools } = (await testEnv.connection()).cluster;
  const known = await pools.listCoerced();
  assert.equal(known.length, specs.length);
  t.after(() => useCrd(testEnv.cluster(), 'ours'));
  await useCrd(testEnv.cluster(), 'earlier schema');
  const writes: Record<string, (pool: NodePool) => Promise<unknown>> = {
    status: pool => pools.patchStatus(pool, { status: 200, nodeCount: 1 }),
    finalizers: pool => pools.setFinalizers(pool, ['example.com/hold']),
    annotation: pool => pools.annotate(pool, 'note', 'x'),
  };
  for (const pool of known) {
    for (const [what, write] of Object.entries(writes)) {
      await assert.rejects(write(pool), /the server rejected our request/i, `${what} of ${pool.metadata.name}`);
    }
  }
  await useCrd(testEnv.cluster(), 'ours');
  for (const [name, spec] of specs) assert.deepEqual((await testEnv.getPool(name))?.spec, spec);
});
