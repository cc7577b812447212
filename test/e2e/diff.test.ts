/** What `diff` finds where pools are on their way out, and how runs end. Its screen: verbs-reconcile.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from '../../src/operations/diff.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { whileRefusing } from './refusal.ts';
import { role, useWorld } from './world.ts';

const world = useWorld();

test('a deleted pool is shown as it will be released, whether its spec is valid or not', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' }, handler: 'runc' });
  await world.reconcile();
  await raw(world.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/w');
  const { cluster } = await world.connection();
  // As a pool would be that is older than the rule.
  const listCoerced = async () =>
    (await cluster.pools.listCoerced()).map(pool => ({
      ...pool,
      spec: { ...pool.spec, labels: { ...pool.spec.labels, 'kubernetes.io/os': 'x' } },
    }));
  for (const port of [cluster, override(cluster, { pools: { listCoerced } })]) {
    const { nodes, runtimeClasses, invalid } = (await diff([], { cluster: port })).plan;
    const changes = nodes.flatMap(plan =>
      plan.changes.map(({ key, action, reason }) => [plan.node.name, key, action, reason]),
    );
    assert.deepEqual(changes, [['a', 'tier', 'remove', 'left the pool']]);
    assert.deepEqual([runtimeClasses, invalid], [[{ name: 'node-pool-w', kind: 'delete' }], []]);
  }
});

test('a node that joins without a change of labels or taints is no difference, and reconcile takes it over', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w');
  assert.deepEqual(await cli(world.cluster(), ['diff']), { code: 0, stdout: '', stderr: '' });
  const [summary] = await world.reconcile();
  assert.equal(summary?.joined, 1);
});

test('reconcile ends with 1 when a write failed, also when some pool is not 200', async () => {
  await world.nodes({ name: 'a', labels: role('held') }, { name: 'b', labels: role('idle'), ready: false });
  await world.pool('held', { labels: { tier: 'gold' } });
  await world.pool('idle');
  const refusal = {
    group: '',
    resource: 'nodes',
    operation: 'UPDATE',
    unless: "object.metadata.name != 'a'",
    probe: ['PATCH', '/api/v1/nodes/a', { metadata: { labels: { x: 'y' } } }] as [string, string, unknown],
  } as const;
  await whileRefusing(world.cluster(), refusal, async () => {
    const { code, stdout, stderr } = await cli(world.cluster(), ['reconcile']);
    assert.equal(code, 1);
    assert.match(stdout, /^held +500,.*\nidle +503,/);
    assert.match(stderr, /^error: held: .*not in this test/);
  });
  assert.equal((await cli(world.cluster(), ['reconcile'])).code, 3);
});
