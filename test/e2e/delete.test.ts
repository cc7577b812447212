/** Deleting pools while others delete and create objects or requests are refused. The command's output: command-delete.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { deletePools, findPools } from '../../src/commands/shared/delete/delete.ts';
import { systemClock } from '../../src/controller/clock.ts';
import type { Connection } from '../../src/kube/connect.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { commandsOf } from './commands.ts';
import { whileRefusing } from './refusal.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { refused } = commandsOf(testEnv.cluster);

const TAINT = { key: 'dedicated', value: 'w', effect: 'NoSchedule' } as const;
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

/** Deletes with some calls of the connection replaced, to act as somebody else at that moment. */
async function deleteWith(
  names: string[],
  over: Partial<Connection>,
  { detachNodes = false, isDryRun = false, meanwhile = async () => {} } = {},
) {
  const connection = { ...(await testEnv.connection(isDryRun)), ...over };
  const deps = {
    ...connection,
    now: () => new Date(),
    clock: systemClock,
    sleep: (ms: number) => sleep(ms),
    warn: () => {},
  };
  const { pools } = await findPools({ names, detachNodes, ignoreNotFound: false }, deps.cluster);
  await meanwhile();
  const results = await deletePools({ ...deps, pools, detachNodes, concurrency: 8 });
  return results.map(({ pool, error, outcome }) => [
    pool,
    error?.message ?? outcome?.failures[0]?.message ?? outcome?.kind,
  ]);
}

test('--detach-nodes removes everything that the earlier operator set for the pool', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('worker'), tier: 'gold', foreign: 'stays' }, taints: [TAINT] });
  await testEnv.pool(
    'worker',
    { labels: { tier: 'gold' }, taints: [TAINT] },
    { metadata: { finalizers: [FINALIZER] } },
  );
  await raw(testEnv.cluster()).expect('PATCH', `${POOLS}/worker/status`, {
    status: { status: 200, nodeCount: 1, allocatable: { cpu: '4' } },
  });
  const [result] = await testEnv.delete(['worker'], { detachNodes: true });
  assert.deepEqual([result?.detached, result?.released, result?.outcome?.failures], [1, 1, []]);
  assert.equal(await testEnv.getPool('worker'), undefined);
  const node = await testEnv.node('a');
  assert.deepEqual(
    ['tier' in node.metadata.labels, 'node-role.kubernetes.io/worker' in node.metadata.labels],
    [false, false],
  );
  assert.equal(node.metadata.labels.foreign, 'stays');
  assert.deepEqual(taintsOf(node), []);
  assert.equal(node.metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
});

test('--detach-nodes removes the label of a node that another pool takes over', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('worker'), kind: 'big' } }, { name: 'b', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' } });
  await testEnv.pool('big', { nodeSelector: { kind: 'big' }, labels: { size: 'l' } }, { younger: true });
  await testEnv.reconcile();
  const [result] = await testEnv.delete(['worker'], { detachNodes: true });
  assert.equal(result?.detached, 2);
  for (const name of ['a', 'b']) {
    const { labels } = (await testEnv.node(name)).metadata;
    assert.deepEqual(['tier' in labels, 'node-role.kubernetes.io/worker' in labels], [false, false], name);
  }
  assert.equal((await testEnv.node('a')).metadata.labels.size, 'l');
});

test('--detach-nodes removes the labels of a pool that a controller removed meanwhile', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b', labels: { ...role('w'), ...role('other') } });
  await testEnv.pool('w', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const { cluster } = await testEnv.connection();
  const over = {
    cluster: override(cluster, {
      pools: {
        async delete(pool) {
          const deleted = await cluster.pools.delete(pool);
          await testEnv.reconcile();
          assert.equal(await testEnv.getPool('w'), undefined);
          return deleted;
        },
      },
    }),
  };
  assert.equal((await deleteWith(['w'], over, { detachNodes: true }))[0]?.[1], 'released');
  for (const name of ['a', 'b']) {
    const { labels } = (await testEnv.node(name)).metadata;
    assert.deepEqual(['tier' in labels, 'node-role.kubernetes.io/w' in labels], [false, false], name);
  }
  assert.equal((await testEnv.node('b')).metadata.labels['node-role.kubernetes.io/other'], '');
});

test('neither deletes nor reconciles a pool that was recreated before the delete', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' } });
  const { cluster } = await testEnv.connection();
  const results = await deleteWith(['w'], {
    cluster: override(cluster, {
      pools: {
        async delete(pool) {
          await raw(testEnv.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: null } });
          await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
          await testEnv.pool('w', { labels: { tier: 'new' } });
          return cluster.pools.delete(pool);
        },
      },
    }),
  });
  const message = 'somebody else deleted and recreated pool w; the new pool is not changed';
  assert.deepEqual(results, [['w', message]]);
  const successor = await testEnv.getPool('w');
  assert.deepEqual([successor?.spec.labels, successor?.metadata.deletionTimestamp], [{ tier: 'new' }, undefined]);
  assert.equal('tier' in (await testEnv.node('a')).metadata.labels, false);
});

test('does not delete a pool that was recreated during the prompt', async () => {
  await testEnv.pool('w');
  const meanwhile = async () => {
    await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
    await testEnv.pool('w', { labels: { tier: 'new' } });
  };
  const [[, outcome] = []] = await deleteWith(['w'], {}, { meanwhile });
  assert.match(String(outcome), /^somebody else deleted and recreated pool w/);
  assert.deepEqual((await testEnv.getPool('w'))?.spec.labels, { tier: 'new' });
});

test('a dry run uses the current pool, even after foreign writes', async () => {
  await testEnv.pool('w');
  const meanwhile = async () => {
    await raw(testEnv.cluster()).expect('PATCH', `${POOLS}/w`, { spec: { labels: { tier: 'new' } } });
  };
  assert.deepEqual(await deleteWith(['w'], {}, { isDryRun: true, meanwhile }), [['w', 'released']]);
  assert.deepEqual((await testEnv.getPool('w'))?.metadata.deletionTimestamp, undefined);
});

test('does not release a recreated pool that somebody else marked for deletion', async () => {
  await testEnv.pool('w');
  const { cluster } = await testEnv.connection();
  const results = await deleteWith(['w'], {
    cluster: override(cluster, {
      pools: {
        async delete(pool) {
          await raw(testEnv.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: null } });
          await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
          await testEnv.pool('w', {}, { metadata: { finalizers: [FINALIZER] } });
          await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
          return cluster.pools.delete(pool);
        },
      },
    }),
  });
  assert.match(String(results[0]?.[1]), /^somebody else deleted and recreated pool w/);
  assert.deepEqual((await testEnv.getPool('w'))?.metadata.finalizers, [FINALIZER]);
});

test('releases the nodes of a pool that somebody else removes meanwhile', async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const { cluster } = await testEnv.connection();
  const results = await deleteWith(['w'], {
    cluster: override(cluster, {
      pools: {
        async delete(pool) {
          await raw(testEnv.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: null } });
          await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
          return cluster.pools.delete(pool);
        },
      },
    }),
  });
  assert.deepEqual(results, [['w', 'released']]);
  assert.equal('tier' in (await testEnv.node('a')).metadata.labels, false);
});

test('deletes the other pools when one is forbidden, and reports each', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('two') });
  await testEnv.pool('one', { labels: { tier: 'gold' } });
  await testEnv.pool('two', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const refusal = {
    group: 'nodes.lailin.xyz',
    resource: 'nodepools',
    operation: 'DELETE',
    unless: "oldObject.metadata.name != 'one'",
    probe: ['DELETE', `${POOLS}/one`] as [string, string],
  } as const;
  await whileRefusing(testEnv.cluster(), refusal, async () => {
    const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['delete', 'one', 'two']);
    assert.deepEqual([code, stdout], [1, 'nodepool.nodes.lailin.xyz "two" deleted (1 node released)\n']);
    assert.match(
      stderr,
      /^error: .*\bone\b.*not in this test.*\nnodepool\.nodes\.lailin\.xyz "one" is not deleted yet\n$/,
    );
  });
  assert.equal((await testEnv.getPool('one'))?.metadata.deletionTimestamp, undefined);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'gold');
  assert.equal('tier' in (await testEnv.node('b')).metadata.labels, false);
});

test('keeps only the pool whose node cannot be detached', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('two') });
  await testEnv.pool('one');
  await testEnv.pool('two');
  await testEnv.reconcile();
  const { cluster } = await testEnv.connection();
  const results = await deleteWith(
    ['one', 'two'],
    {
      cluster: override(cluster, {
        nodes: {
          async patch(name, patch, options) {
            if (name === 'a') throw new NodepoolError('cluster', 'cannot patch node a');
            return cluster.nodes.patch(name, patch, options);
          },
        },
      }),
    },
    { detachNodes: true },
  );
  assert.deepEqual(results, [
    ['one', 'cannot patch node a'],
    ['two', 'released'],
  ]);
  assert.notEqual((await testEnv.getPool('one'))?.metadata.deletionTimestamp, undefined);
  const [again] = await testEnv.delete(['one'], { detachNodes: true });
  assert.equal(again?.detached, 1);
  assert.equal('node-role.kubernetes.io/one' in (await testEnv.node('a')).metadata.labels, false);
});

test('--detach-nodes refuses a pool with its own nodeSelector before it deletes anything', async () => {
  await testEnv.nodes({ name: 'a', labels: { 'topology.kubernetes.io/zone': 'eu-1' } });
  await testEnv.pool('fine');
  await testEnv.pool('z', { nodeSelector: { 'topology.kubernetes.io/zone': 'eu-1' }, labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const line =
    'error: --detach-nodes: pool z selects by spec.nodeSelector, and others may have set these labels; next: leave out --detach-nodes, and remove the labels yourself: `kubectl label node NODE topology.kubernetes.io/zone-`';
  for (const dryRun of ['none', 'client', 'server']) {
    await refused(['delete', 'fine', 'z', '--detach-nodes', `--dry-run=${dryRun}`], 1, line);
  }
});
