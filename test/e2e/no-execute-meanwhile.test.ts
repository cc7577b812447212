/** `noExecute: Drain` of a pool that is changed between two evictions of one node, on the real API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { poolsWithPods } from './draining.ts';
import { start } from './following.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const pods = poolsWithPods(testEnv);
const NAMES = ['a', 'b', 'c', 'd'].map(name => `pod-${name}`);
const SPEC = { noExecute: 'Drain', taints: [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }] } as const;

/** Runs `change` after the first eviction, and lets a second pass. @param unread after it, the pool cannot be read for this reason */
async function changing(change: () => Promise<unknown>, unread?: NodepoolError): Promise<ClusterPort> {
  const { cluster } = await testEnv.connection();
  let isFirst = true;
  return {
    ...cluster,
    pools: {
      ...cluster.pools,
      getCoerced: async name => {
        if (!isFirst && unread !== undefined) throw unread;
        return cluster.pools.getCoerced(name);
      },
    },
    async evictions() {
      const client = await cluster.evictions();
      return {
        ...client,
        evict: async (...args) => {
          const removal = await client.evict(...args);
          if (isFirst) {
            isFirst = false;
            await change();
            await sleep(1_100);
          }
          return removal;
        },
      };
    },
  };
}

const changes: [what: string, change: () => Promise<unknown>, taints: string[]][] = [
  ['paused', () => testEnv.edit('web', { spec: { paused: true } }), ['dedicated=x:NoSchedule']],
  ['edited', () => testEnv.edit('web', { spec: { taints: null } }), ['dedicated=x:NoSchedule']],
  ['deleted', () => testEnv.delete(['web']), []],
];
for (const [what, change, taints] of changes) {
  test(`keeps the other pods when a pool is ${what} after the first eviction of a node`, async () => {
    await testEnv.nodes({ name: 'n', labels: role('web') });
    await testEnv.pool('web', { ...SPEC, taints: [...SPEC.taints] });
    for (const name of NAMES) await pods.pod({ name, node: 'n', graceSeconds: 0 });
    await testEnv.reconcileWith(await changing(change), 'web').catch(() => {});
    assert.equal((await pods.names()).length, NAMES.length - 1);
    assert.deepEqual(taintsOf(await testEnv.node('n')), taints);
  });
}

test('keeps the other pods while the pool cannot be read', async () => {
  await testEnv.nodes({ name: 'n', labels: role('web') });
  await testEnv.pool('web', { ...SPEC, taints: [...SPEC.taints] });
  for (const name of NAMES) await pods.pod({ name, node: 'n', graceSeconds: 0 });
  const unread = new NodepoolError('cluster', 'the API server is overloaded', undefined, { isTransient: true });
  await testEnv.reconcileWith(await changing(async () => {}, unread), 'web').catch(() => {});
  assert.equal((await pods.names()).length, NAMES.length - 1);
});

const { cluster } = testEnv;
const spec = (key: string) => ({ noExecute: 'Drain' as const, taints: [{ key, effect: 'NoExecute' as const }] });
test('a one-shot run keeps pods of a node that moved to a pool paused meanwhile', async t => {
  await testEnv.nodes({ name: 'x', labels: role('a') }, { name: 'y', labels: role('a') });
  await testEnv.pool('a', {});
  await testEnv.reconcile();
  await testEnv.pool('b', spec('b'));
  await testEnv.patchNode('x', { metadata: { labels: { 'node-role.kubernetes.io/a': null, ...role('b') } } });
  await testEnv.edit('a', { spec: spec('a') });
  for (const [name, node] of [
    ['on-x', 'x'],
    ['on-y', 'y'],
  ] as const) {
    await pods.pod({ name, node, graceSeconds: 0, labels: { app: name } });
    await pods.budget(name, { app: name }, 0);
  }
  const run = start(t, cluster(), [...productCommand(), 'reconcile', 'a', '--yes']);
  await eventually('y is held', () => /waits for PodDisruptionBudget/.test(run.stderr()));
  await testEnv.edit('b', { spec: { paused: true } });
  await sleep(1_100);
  for (const name of ['on-x', 'on-y']) await pods.budget(name, { app: name }, 1);
  await run.end('SIGCONT');
  assert.deepEqual(await pods.names(), ['on-x']);
  assert.deepEqual(taintsOf(await testEnv.node('y')), ['a:NoExecute']);
});

test('a one-shot run continues when its pool is paused and resumed', async t => {
  await testEnv.nodes({ name: 'n', labels: role('web') });
  await testEnv.pool('web', spec('web'));
  await pods.pod({ name: 'p', node: 'n', graceSeconds: 0, labels: { app: 'p' } });
  await pods.budget('p', { app: 'p' }, 0);
  const run = start(t, cluster(), [...productCommand(), 'reconcile', 'web', '--yes']);
  await eventually('it is held', () => /waits for PodDisruptionBudget/.test(run.stderr()));
  // A run that reads the pool while it is paused ends.
  void run.end('SIGSTOP');
  for (const args of [['pause'], ['resume', '--yes']])
    assert.equal((await cli(cluster(), ['rollout', ...args, 'web'])).code, 0);
  await pods.budget('p', { app: 'p' }, 1);
  assert.equal(await run.end('SIGCONT'), 0, run.stderr());
  assert.deepEqual(taintsOf(await testEnv.node('n')), ['web:NoExecute']);
});
