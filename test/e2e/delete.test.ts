/** Deleting pools while others delete, make and refuse things too. The verb's own words: verbs-delete.test.ts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/controller/clock.ts';
import type { Connection } from '../../src/kube/connect.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { deletePools } from '../../src/operations/delete.ts';
import { findPools } from '../../src/operations/propose-deletion.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { override } from '../override.ts';
import { whileRefusing } from './refusal.ts';
import { verbsOf } from './verbs.ts';
import { role, taintsOf, useWorld } from './world.ts';

const world = useWorld();
const { refused } = verbsOf(world.cluster);

const TAINT = { key: 'dedicated', value: 'w', effect: 'NoSchedule' } as const;
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';

/** Deletes with some calls of the connection replaced, or after a while: what somebody else does at that moment. */
async function deleteWith(
  names: string[],
  over: Partial<Connection>,
  { detachNodes = false, dryRun = false, meanwhile = async () => {} } = {},
) {
  const connection = { ...(await world.connection()), ...over };
  const deps = {
    ...connection,
    now: () => new Date(),
    clock: systemClock,
    sleep: (ms: number) => sleep(ms),
    warn: () => {},
  };
  const pools = await findPools({ names, detachNodes, ignoreNotFound: false }, deps.cluster.pools);
  await meanwhile();
  const results = await deletePools({ pools, detachNodes, concurrency: 8, dryRun }, deps);
  return results.map(({ pool, error, outcome }) => [
    pool,
    error?.message ?? outcome?.failures[0]?.message ?? outcome?.kind,
  ]);
}

test('--detach-nodes of a pool of the earlier operator leaves nothing of it on the nodes', async () => {
  await world.nodes({ name: 'a', labels: { ...role('worker'), tier: 'gold', foreign: 'stays' }, taints: [TAINT] });
  await world.pool('worker', { labels: { tier: 'gold' }, taints: [TAINT] }, { metadata: { finalizers: [FINALIZER] } });
  await raw(world.cluster()).expect('PATCH', `${POOLS}/worker/status`, {
    status: { status: 200, nodeCount: 1, allocatable: { cpu: '4' } },
  });
  const [result] = await world.delete(['worker'], { detachNodes: true });
  assert.deepEqual([result?.detached, result?.released, result?.outcome?.failures], [1, 1, []]);
  assert.equal(await world.getPool('worker'), undefined);
  const node = await world.node('a');
  assert.deepEqual(
    ['tier' in node.metadata.labels, 'node-role.kubernetes.io/worker' in node.metadata.labels],
    [false, false],
  );
  assert.equal(node.metadata.labels.foreign, 'stays');
  assert.deepEqual(taintsOf(node), []);
  assert.equal(node.metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
});

test('--detach-nodes takes the label of a node that goes to another pool which matches it', async () => {
  await world.nodes({ name: 'a', labels: { ...role('worker'), kind: 'big' } }, { name: 'b', labels: role('worker') });
  await world.pool('worker', { labels: { tier: 'gold' } });
  await world.pool('big', { nodeSelector: { kind: 'big' }, labels: { size: 'l' } }, { younger: true });
  await world.reconcile();
  const [result] = await world.delete(['worker'], { detachNodes: true });
  assert.equal(result?.detached, 2);
  for (const name of ['a', 'b']) {
    const { labels } = (await world.node(name)).metadata;
    assert.deepEqual(['tier' in labels, 'node-role.kubernetes.io/worker' in labels], [false, false], name);
  }
  assert.equal((await world.node('a')).metadata.labels.size, 'l');
});

test('a pool that was replaced before it could be deleted: its successor is neither deleted nor applied', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' } });
  const { cluster } = await world.connection();
  const results = await deleteWith(['w'], {
    cluster: override(cluster, {
      pools: {
        async delete(pool, options) {
          await raw(world.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: null } });
          await raw(world.cluster()).expect('DELETE', `${POOLS}/w`);
          await world.pool('w', { labels: { tier: 'new' } });
          return cluster.pools.delete(pool, options);
        },
      },
    }),
  });
  const message = 'nodepool w was deleted and made anew by somebody else meanwhile; the new one is left as it is';
  assert.deepEqual(results, [['w', message]]);
  const successor = await world.getPool('w');
  assert.deepEqual([successor?.spec.labels, successor?.metadata.deletionTimestamp], [{ tier: 'new' }, undefined]);
  assert.equal('tier' in (await world.node('a')).metadata.labels, false);
});

test('nor one that came while a person was asked', async () => {
  await world.pool('w');
  const meanwhile = async () => {
    await raw(world.cluster()).expect('DELETE', `${POOLS}/w`);
    await world.pool('w', { labels: { tier: 'new' } });
  };
  const [[, outcome] = []] = await deleteWith(['w'], {}, { meanwhile });
  assert.match(String(outcome), /^nodepool w was deleted and made anew/);
  assert.deepEqual((await world.getPool('w'))?.spec.labels, { tier: 'new' });
});

test('a dry run is of the pool as it is then, whoever wrote it meanwhile', async () => {
  await world.pool('w');
  const meanwhile = async () => {
    await raw(world.cluster()).expect('PATCH', `${POOLS}/w`, { spec: { labels: { tier: 'new' } } });
  };
  assert.deepEqual(await deleteWith(['w'], {}, { dryRun: true, meanwhile }), [['w', 'released']]);
  assert.deepEqual((await world.getPool('w'))?.metadata.deletionTimestamp, undefined);
});

test('nor is a successor released that somebody else has marked for deletion', async () => {
  await world.pool('w');
  const { cluster } = await world.connection();
  const results = await deleteWith(['w'], {
    cluster: override(cluster, {
      pools: {
        async delete(pool, options) {
          await raw(world.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: null } });
          await raw(world.cluster()).expect('DELETE', `${POOLS}/w`);
          await world.pool('w', {}, { metadata: { finalizers: [FINALIZER] } });
          await raw(world.cluster()).expect('DELETE', `${POOLS}/w`);
          return cluster.pools.delete(pool, options);
        },
      },
    }),
  });
  assert.match(String(results[0]?.[1]), /^nodepool w was deleted and made anew/);
  assert.deepEqual((await world.getPool('w'))?.metadata.finalizers, [FINALIZER]);
});

test('a pool that somebody else deletes for good meanwhile is released all the same', async () => {
  await world.nodes({ name: 'a', labels: role('w') });
  await world.pool('w', { labels: { tier: 'gold' } });
  await world.reconcile();
  const { cluster } = await world.connection();
  const results = await deleteWith(['w'], {
    cluster: override(cluster, {
      pools: {
        async delete(pool, options) {
          await raw(world.cluster()).expect('PATCH', `${POOLS}/w`, { metadata: { finalizers: null } });
          await raw(world.cluster()).expect('DELETE', `${POOLS}/w`);
          return cluster.pools.delete(pool, options);
        },
      },
    }),
  });
  assert.deepEqual(results, [['w', 'released']]);
  assert.equal('tier' in (await world.node('a')).metadata.labels, false);
});

test('of several pools one may not be deleted: the others are, wholly, and each is told of', async () => {
  await world.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('two') });
  await world.pool('one', { labels: { tier: 'gold' } });
  await world.pool('two', { labels: { tier: 'gold' } });
  await world.reconcile();
  const refusal = {
    group: 'nodes.lailin.xyz',
    resource: 'nodepools',
    operation: 'DELETE',
    unless: "oldObject.metadata.name != 'one'",
    probe: ['DELETE', `${POOLS}/one`] as [string, string],
  } as const;
  await whileRefusing(world.cluster(), refusal, async () => {
    const { code, stdout, stderr } = await cli(world.cluster(), ['delete', 'one', 'two']);
    assert.deepEqual([code, stdout], [1, 'nodepool.nodes.lailin.xyz "two" deleted (1 node released)\n']);
    assert.match(
      stderr,
      /^error: .*\bone\b.*not in this test.*\nnodepool\.nodes\.lailin\.xyz "one" is not deleted yet\n$/,
    );
  });
  assert.equal((await world.getPool('one'))?.metadata.deletionTimestamp, undefined);
  assert.equal((await world.node('a')).metadata.labels.tier, 'gold');
  assert.equal('tier' in (await world.node('b')).metadata.labels, false);
});

test('a node that cannot be detached keeps its pool for the next run, and no other', async () => {
  await world.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('two') });
  await world.pool('one');
  await world.pool('two');
  await world.reconcile();
  const { cluster } = await world.connection();
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
  assert.notEqual((await world.getPool('one'))?.metadata.deletionTimestamp, undefined);
  const [again] = await world.delete(['one'], { detachNodes: true });
  assert.equal(again?.detached, 1);
  assert.equal('node-role.kubernetes.io/one' in (await world.node('a')).metadata.labels, false);
});

test('--detach-nodes keeps its hands off the labels of a selector, and says so before anything is deleted', async () => {
  await world.nodes({ name: 'a', labels: { 'topology.kubernetes.io/zone': 'eu-1' } });
  await world.pool('fine');
  await world.pool('z', { nodeSelector: { 'topology.kubernetes.io/zone': 'eu-1' }, labels: { tier: 'gold' } });
  await world.reconcile();
  const line =
    'error: --detach-nodes: nodepool z finds its nodes by spec.nodeSelector, whose labels others may have set; next: leave out --detach-nodes, and unlabel the nodes by hand: `kubectl label node NODE topology.kubernetes.io/zone-`';
  for (const dryRun of ['none', 'client', 'server']) {
    await refused(['delete', 'fine', 'z', '--detach-nodes', `--dry-run=${dryRun}`], 1, line);
  }
});
