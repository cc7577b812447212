/**
 * Killed after any write: the next run reaches the state of a run without a fault, without extra creates and deletes.
 * The kill is simulated: after the Nth response to a write nothing more is sent.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { reconcile } from '../../src/commands/shared/reconcile/apply.ts';
import { proposeReconcile } from '../../src/commands/shared/reconcile/propose.ts';
import { systemClock } from '../../src/controller/clock.ts';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import { preservedFields } from '../../src/nodepool/plan/runtime-class.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { wrapped } from '../override.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

class Killed extends Error {}

/** Forwards calls until the Nth write got its response; counts creates and deletes. */
async function killAfter(writes: number, counts: Record<string, number>): Promise<ClusterPort> {
  const { cluster } = await testEnv.connection();
  let left = writes;
  return wrapped(cluster, (name, call) => async (...args) => {
    if (left <= 0) throw new Killed();
    const result = await call(...args);
    if (/^runtimeClasses\.(create|delete)$/.test(name)) counts[name] = (counts[name] ?? 0) + 1;
    if (!/\.(list|get|heads)/.test(name) && --left <= 0) throw new Killed();
    return result;
  });
}

async function run(cluster: ClusterPort): Promise<'done' | 'killed'> {
  const deps = { cluster, now: () => new Date(), clock: systemClock, sleep: (ms: number) => sleep(ms), warn: () => {} };
  try {
    await reconcile(await proposeReconcile([], { ...(await testEnv.connection()), cluster }), {
      ...deps,
      concurrency: 1,
    });
    return 'done';
  } catch (error) {
    if (error instanceof Killed) return 'killed';
    throw error;
  }
}

/** A node joins, one moves, one leaves, one has drifted; a handler changes, of a RuntimeClass that others changed, too; a pool is being deleted. */
async function prepare(): Promise<void> {
  await testEnv.nodes(
    { name: 'joins' },
    { name: 'moves', labels: { ...role('one'), tier: 'before' } },
    { name: 'leaves', labels: role('one') },
    { name: 'drifts', labels: role('two') },
    { name: 'released', labels: role('gone') },
  );
  await testEnv.pool('one', {
    labels: { tier: 'one' },
    taints: [{ key: 'one', effect: 'NoSchedule' }],
    handler: 'runc',
  });
  await testEnv.pool('two', { labels: { tier: 'two', only: 'two' }, handler: 'runc' });
  await testEnv.pool('gone', { labels: { tier: 'gone' }, handler: 'runc' });
  await testEnv.reconcile();
  const client = raw(testEnv.cluster());
  await client.expect('PATCH', '/apis/node.k8s.io/v1/runtimeclasses/node-pool-two', {
    metadata: { labels: { team: 'a' }, annotations: { note: 'b' } },
    overhead: { podFixed: { memory: '100Mi' } },
  });
  await client.expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/gone');
  await testEnv.edit('two', { spec: { handler: 'gvisor' } });
  await testEnv.patchNode('joins', { metadata: { labels: role('one') } });
  await testEnv.patchNode('moves', { metadata: { labels: { 'node-role.kubernetes.io/one': null, ...role('two') } } });
  await testEnv.patchNode('leaves', { metadata: { labels: { 'node-role.kubernetes.io/one': null } } });
  await testEnv.patchNode('drifts', { metadata: { labels: { tier: 'drifted' } } });
}

async function endState() {
  const nodes = await Promise.all(
    ['joins', 'moves', 'leaves', 'drifts', 'released'].map(async name => {
      const node = await testEnv.node(name);
      return [name, node.metadata.labels, taintsOf(node), node.metadata.annotations];
    }),
  );
  const pools = await Promise.all(['one', 'two', 'gone'].map(name => testEnv.getPool(name)));
  const classes = await Promise.all(['one', 'two', 'gone'].map(name => testEnv.runtimeClass(name)));
  return {
    nodes,
    pools: pools.map(pool => pool && withoutTimes(pool)),
    classes: classes.map(found => found && [found.handler, found.scheduling, preservedFields(found)]),
  };
}

function withoutTimes({ metadata, spec, status }: NodePool) {
  const conditions = status?.conditions?.map(({ lastTransitionTime: _time, ...rest }) => rest);
  const { finalizers, annotations = {} } = metadata;
  return { finalizers, annotations, spec, status: { ...status, conditions } };
}

test('reaches the same end state without extra creates or deletes when killed after any write', {
  timeout: 300_000,
}, async t => {
  await prepare();
  const faultless: Record<string, number> = {};
  assert.equal(await run(await killAfter(Number.POSITIVE_INFINITY, faultless)), 'done');
  const wanted = await endState();
  assert.deepEqual(faultless, { 'runtimeClasses.create': 1, 'runtimeClasses.delete': 2 });
  assert.deepEqual(wanted.classes[1]?.at(-1), {
    labels: { team: 'a' },
    annotations: { note: 'b' },
    overhead: { podFixed: { memory: '100Mi' } },
  });

  let writes = 1;
  for (; ; writes++) {
    await testEnv.clean();
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
