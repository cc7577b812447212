/** `diff` of terminating pools, and exit codes of reconcile. Output: command-reconcile.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from '../../src/commands/shared/changes/diff.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { nodeRefusal, whileRefusing } from './refusal.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('shows the release of a deleted pool with a valid or invalid spec', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  await testEnv.reconcile();
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
  const connection = await testEnv.connection();
  const { cluster } = connection;
  // As a pool would be that is older than the rule.
  const listCoerced = async () =>
    (await cluster.pools.listCoerced()).map(pool => ({
      ...pool,
      spec: { ...pool.spec, labels: { ...pool.spec.labels, 'kubernetes.io/os': 'x' } },
    }));
  for (const port of [cluster, override(cluster, { pools: { listCoerced } })]) {
    const { nodes, runtimeClasses, invalid } = (await diff([], { ...connection, cluster: port })).plan;
    const changes = nodes.flatMap(plan =>
      plan.changes.map(({ key, action, reason }) => [plan.node.name, key, action, reason]),
    );
    assert.deepEqual(changes, [['a', 'tier', 'remove', 'left the pool']]);
    assert.deepEqual([runtimeClasses, invalid], [[{ name: 'node-pool-w', kind: 'delete' }], []]);
  }
});

test('shows no difference for a node that needs only a record', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w');
  const note = "pool w: record is missing on 1 node that already has the pool's values: a; reconcile updates it\n";
  assert.deepEqual(await cliHere(testEnv.cluster(), ['diff']), { code: 0, stdout: '', stderr: note });
  const [summary] = await testEnv.reconcile();
  assert.equal(summary?.joined, 1);
});

test('reconcile exits with 1 when a write failed, even if a pool has a problem', async () => {
  await testEnv.nodes({ name: 'a', labels: role('held') }, { name: 'b', labels: role('idle'), ready: false });
  await testEnv.pool('held', { labels: { tier: 'gold' } });
  await testEnv.pool('idle');
  await whileRefusing(testEnv.cluster(), nodeRefusal('a'), async () => {
    const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['reconcile']);
    assert.equal(code, 1);
    assert.match(stdout, /^held +Failing .*\nidle +NotReady /);
    assert.match(stderr, /^error: held: .*not in this test/);
  });
  assert.equal((await cliHere(testEnv.cluster(), ['reconcile'])).code, 3);
});
