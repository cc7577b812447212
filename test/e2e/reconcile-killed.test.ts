/**
 * Killed after any write: the next run ends where a run without a fault ends, and creates and deletes no more. The kill
 * is the process's, not the server's: after the Nth answer to a write nothing more is sent.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/controller/clock.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { proposeReconcile, reconcile } from '../../src/operations/reconcile.ts';
import type { ClusterPort } from '../../src/reconciler/ports.ts';
import { raw } from '../cluster/raw.ts';
import { wrapped } from '../override.ts';
import { role, taintsOf, useWorld } from './world.ts';

const world = useWorld();

class Killed extends Error {}

/** Passes everything on until the Nth write was answered; counts creates and deletes. */
async function killAfter(writes: number, counts: Record<string, number>): Promise<ClusterPort> {
  const { cluster } = await world.connection();
  let left = writes;
  return wrapped(cluster, (name, call) => async (...args) => {
    if (left <= 0) throw new Killed();
    const result = await call(...args);
    if (/^runtimeClasses\.(create|delete)$/.test(name)) counts[name] = (counts[name] ?? 0) + 1;
    if (!/\.(list|get)/.test(name) && --left <= 0) throw new Killed();
    return result;
  });
}

async function run(cluster: ClusterPort): Promise<'done' | 'killed'> {
  const deps = { cluster, now: () => new Date(), clock: systemClock, sleep: (ms: number) => sleep(ms), warn: () => {} };
  try {
    await reconcile(await proposeReconcile([], deps), { concurrency: 1, dryRun: false }, deps);
    return 'done';
  } catch (error) {
    if (error instanceof Killed) return 'killed';
    throw error;
  }
}

/** A node joins, one moves, one leaves, one has drifted; a handler changes; a pool is on its way out. */
async function prepare(): Promise<void> {
  await world.nodes(
    { name: 'joins' },
    { name: 'moves', labels: { ...role('one'), tier: 'before' } },
    { name: 'leaves', labels: role('one') },
    { name: 'drifts', labels: role('two') },
    { name: 'released', labels: role('gone') },
  );
  await world.pool('one', { labels: { tier: 'one' }, taints: [{ key: 'one', effect: 'NoSchedule' }], handler: 'runc' });
  await world.pool('two', { labels: { tier: 'two', only: 'two' }, handler: 'runc' });
  await world.pool('gone', { labels: { tier: 'gone' }, handler: 'runc' });
  await world.reconcile();
  const client = raw(world.cluster());
  await client.expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/gone');
  await world.edit('two', { spec: { handler: 'gvisor' } });
  await world.patchNode('joins', { metadata: { labels: role('one') } });
  await world.patchNode('moves', { metadata: { labels: { 'node-role.kubernetes.io/one': null, ...role('two') } } });
  await world.patchNode('leaves', { metadata: { labels: { 'node-role.kubernetes.io/one': null } } });
  await world.patchNode('drifts', { metadata: { labels: { tier: 'drifted' } } });
}

async function endState() {
  const nodes = await Promise.all(
    ['joins', 'moves', 'leaves', 'drifts', 'released'].map(async name => {
      const node = await world.node(name);
      return [name, node.metadata.labels, taintsOf(node), node.metadata.annotations];
    }),
  );
  const pools = await Promise.all(['one', 'two', 'gone'].map(name => world.getPool(name)));
  const classes = await Promise.all(['one', 'two', 'gone'].map(name => world.runtimeClass(name)));
  return {
    nodes,
    pools: pools.map(pool => pool && withoutTimes(pool)),
    classes: classes.map(found => found && [found.handler, found.scheduling]),
  };
}

function withoutTimes({ metadata, spec, status }: NodePool) {
  const conditions = status?.conditions?.map(({ lastTransitionTime: _time, ...rest }) => rest);
  return { finalizers: metadata.finalizers, spec, status: { ...status, conditions } };
}

test('killed after the Nth write, for every N: same end state, no extra create or delete', {
  timeout: 300_000,
}, async t => {
  await prepare();
  const faultless: Record<string, number> = {};
  assert.equal(await run(await killAfter(Number.POSITIVE_INFINITY, faultless)), 'done');
  const wanted = await endState();
  assert.deepEqual(faultless, { 'runtimeClasses.create': 1, 'runtimeClasses.delete': 2 });

  let writes = 1;
  for (; ; writes++) {
    await world.clean();
    await prepare();
    const counts: Record<string, number> = {};
    const outcome = await run(await killAfter(writes, counts));
    assert.equal(await run(await killAfter(Number.POSITIVE_INFINITY, counts)), 'done');
    assert.deepEqual(await endState(), wanted, `killed after write ${writes}`);
    assert.deepEqual(counts, faultless, `killed after write ${writes}`);
    if (outcome === 'done') break;
  }
  t.diagnostic(`killed after each of ${writes - 1} writes`);
  assert.ok(writes > 10);
});
