/** A pool that cannot be released: its status and every screen say which write fails and why. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { nodeRefusal, type Refusal, whileRefusing } from './refusal.ts';
import { condition, role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ audit: true });
const run = (...args: string[]) => cliHere(testEnv.cluster(), args);
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const FINALIZER = 'node.finalizers.node-pool.lailin.xyz';
const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';
const FOREIGN = 'example.com/keep';

/** Two reconciled members and a RuntimeClass. */
async function reconciled(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  assert.equal((await run('reconcile')).code, 0);
}

const refusals: { what: string; refusal: Refusal; left: number; says: RegExp }[] = [
  {
    what: 'a node',
    refusal: nodeRefusal('b'),
    left: 1,
    says: /^cannot release the pool: 1 node still has its labels and taints: b; cannot patch Node "b": .*not in this test; next: /,
  },
  {
    what: 'the deletion of its RuntimeClass',
    refusal: {
      ...{ group: 'node.k8s.io', resource: 'runtimeclasses', operation: 'DELETE', unless: 'false' },
      probe: ['DELETE', `${CLASSES}/node-pool-w`],
    },
    left: 0,
    says: /^cannot release the pool: cannot delete RuntimeClass "node-pool-w": .*not in this test; next: /,
  },
  {
    what: 'the removal of its finalizer',
    refusal: {
      ...{ group: 'nodes.lailin.xyz', resource: 'nodepools', operation: 'UPDATE' },
      unless: `has(object.metadata.finalizers) && '${FINALIZER}' in object.metadata.finalizers`,
      probe: ['PATCH', `${POOLS}/w`, { metadata: { finalizers: [] } }],
    },
    left: 0,
    says: /^cannot release the pool: cannot patch NodePool "w": .*not in this test; next: /,
  },
];

for (const { what, refusal, left, says } of refusals) {
  test(`a policy refuses ${what}: status and commands name why the deletion is stuck`, async () => {
    await reconciled();
    await whileRefusing(testEnv.cluster(), refusal, async () => {
      assert.equal((await run('delete', 'w', '--yes')).code, 1);
      const pool = await testEnv.getPool('w');
      const applied = condition(pool, 'Applied');
      assert.deepEqual([pool?.status?.status, pool?.status?.nodeCount, applied.status], [500, left, 'False']);
      assert.match(applied.message, says);
      assert.equal(applied.observedGeneration, pool?.metadata.generation);
      const warned = (await testEnv.events('w')).filter(({ type }) => type === 'Warning');
      assert.deepEqual(
        warned.map(({ reason, note }) => [reason, says.test(note)]),
        [['ReconcileFailed', true]],
      );

      assert.match((await run('get')).stdout, /^w +Deleting,Failing /m);
      assert.match((await run('describe', 'w')).stdout, /Applied +False +WriteFailed .*cannot release the pool: /);
      const waited = await run('wait', 'w', '--for=delete', '--timeout=0');
      assert.match(waited.stderr, /w: it is being deleted since .*: cannot release the pool: .*not in this test/);
      const { code, stdout } = await run('doctor');
      assert.equal(code, 1);
      assert.match(stdout, /w: Failing, being deleted since .*: cannot release the pool: .*not in this test/);

      const mark = await auditMark(testEnv.cluster());
      assert.equal((await run('reconcile')).code, 1);
      assert.deepEqual(await writes(testEnv.cluster(), mark), {}, 'nothing has changed, so nothing is written');
    });
    assert.equal((await run('reconcile')).code, 0);
    assert.equal(await testEnv.getPool('w'), undefined);
  });
}

test('a foreign finalizer keeps a released pool, and the commands name it', async () => {
  await reconciled();
  await testEnv.edit('w', { metadata: { finalizers: [FINALIZER, FOREIGN] } });
  assert.equal((await run('delete', 'w', '--yes')).code, 1);
  const pool = await testEnv.getPool('w');
  assert.deepEqual(pool?.metadata.finalizers, [FOREIGN]);
  assert.deepEqual([pool?.status?.status, pool?.status?.nodeCount, pool?.status?.allocatable], [200, 0, {}]);
  const { reason, message } = condition(pool, 'Applied');
  assert.deepEqual([reason, message], ['Released', 'every node is released']);
  const waited = await run('wait', 'w', '--for=delete', '--timeout=0');
  assert.match(waited.stderr, /w: it is being deleted since .*: the finalizer example\.com\/keep keeps it/);
  assert.match((await run('doctor')).stdout, /w: being deleted since .*: the finalizer example\.com\/keep keeps it/);
  const mark = await auditMark(testEnv.cluster());
  assert.equal((await run('reconcile')).code, 0);
  assert.deepEqual(await writes(testEnv.cluster(), mark), {});
  await raw(testEnv.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: [] } });
});
