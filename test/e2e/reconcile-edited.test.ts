/** The spec of a pool is edited between two requests of a run that read it at its start. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { cli } from '../cluster/harness.ts';
import { relay } from './relay.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const NODES = ['a', 'b', 'c'];
const tiers = () => Promise.all(NODES.map(async node => (await testEnv.node(node)).metadata.labels.tier));
const CHANGED =
  'the spec of pool w changed during the reconcile: nodes may have the previous spec; next: run `kubectl nodepool reconcile w`\n';

/** Runs a command, and `edit` after its first request to the path: the first node write, as it has --concurrency 1. */
async function editedDuring(t: TestContext, args: string[], edit: () => Promise<unknown>, after = '/api/v1/nodes/') {
  let isEdited = false;
  const { server } = await relay(t, testEnv.cluster(), {
    async onEnd(path) {
      if (isEdited || !path.startsWith(after)) return;
      isEdited = true;
      await edit();
    },
  });
  const kubeconfig = join(testEnv.cluster().dir, 'relay.kubeconfig');
  const config = {
    'current-context': 'r',
    clusters: [{ name: 'r', cluster: { server } }],
    contexts: [{ name: 'r', context: { cluster: 'r' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  const result = await cli(testEnv.cluster(), [...args, '--kubeconfig', kubeconfig]);
  assert.ok(isEdited);
  return result;
}

async function prepare(): Promise<void> {
  await testEnv.nodes(...NODES.map(name => ({ name, labels: role('w') })));
  await testEnv.pool('w', { labels: { tier: 'gold' } });
}

test('reconcile fails when the spec was edited meanwhile, and the next run finishes', async t => {
  await prepare();
  const edit = () => testEnv.edit('w', { spec: { labels: { tier: 'silver' } } });
  const { code, stderr } = await editedDuring(t, ['reconcile', '--concurrency', '1'], edit);
  assert.deepEqual([code, stderr], [1, `error: w: ${CHANGED}`]);
  assert.deepEqual(await tiers(), ['gold', 'gold', 'gold']);
  const { status, metadata } = (await testEnv.getPool('w')) ?? assert.fail();
  assert.deepEqual([status?.observedGeneration, metadata.generation], [1, 2]);
  assert.equal((await cli(testEnv.cluster(), ['reconcile'])).code, 0);
  assert.deepEqual(await tiers(), ['silver', 'silver', 'silver']);
});

test('reconcile writes nothing of a new pool that was edited before it got its finalizer', async t => {
  await testEnv.pool('w', { handler: 'runc' });
  assert.equal((await cli(testEnv.cluster(), ['reconcile'])).code, 0);
  await testEnv.edit('w', { metadata: { finalizers: [] } });
  const list = '/apis/nodes.lailin.xyz/v1/nodepools?';
  const edit = () => testEnv.edit('w', { spec: { handler: null } });
  const { code, stderr } = await editedDuring(t, ['reconcile'], edit, list);
  assert.deepEqual([code, stderr], [1, `error: w: ${CHANGED}`]);
  const { status } = (await testEnv.getPool('w')) ?? assert.fail();
  assert.equal(status?.observedGeneration, 1);
  assert.equal((await testEnv.runtimeClass('w'))?.handler, 'runc');
});

test('reconcile writes no further node once it detects the edit', async t => {
  await prepare();
  const edit = async () => {
    await testEnv.edit('w', { spec: { labels: { tier: 'silver' } } });
    // A pool that was read within the last second is not read again.
    await sleep(1_100);
  };
  const { code, stderr } = await editedDuring(t, ['reconcile', '--concurrency', '1'], edit);
  assert.deepEqual([code, stderr], [1, `error: w: ${CHANGED}`]);
  assert.deepEqual(await tiers(), ['gold', undefined, undefined]);
});

test('reconcile stops when a node written by another process reveals a newer spec', async t => {
  await prepare();
  const edit = async () => {
    await testEnv.edit('w', { spec: { labels: { tier: 'silver' } } });
    const { cluster } = await testEnv.connection();
    const refuse = () => Promise.reject(new NodepoolError('cluster', 'not in this test'));
    const patch: typeof cluster.nodes.patch = (name, ...rest) =>
      name === 'b' ? cluster.nodes.patch(name, ...rest) : refuse();
    await testEnv.reconcileWith({ ...cluster, nodes: { ...cluster.nodes, patch } }, 'w');
    assert.deepEqual(await tiers(), ['gold', 'silver', undefined]);
  };
  const { code, stderr } = await editedDuring(t, ['reconcile', '--concurrency', '1'], edit);
  assert.deepEqual([code, stderr], [1, `error: w: ${CHANGED}`]);
  assert.deepEqual(await tiers(), ['gold', 'silver', undefined]);
});

test('reconcile keeps the status of another process that reconciled a newer spec', async t => {
  await prepare();
  const edit = async () => {
    await testEnv.edit('w', { spec: { labels: { tier: 'silver' } } });
    await testEnv.reconcile('w');
  };
  const { code, stderr } = await editedDuring(t, ['reconcile', '--concurrency', '1'], edit);
  assert.deepEqual([code, stderr], [1, `error: w: ${CHANGED}`]);
  assert.equal((await testEnv.getPool('w'))?.status?.observedGeneration, 2);
});

test('does not report a nodeSelector edited meanwhile as an invalid object', async t => {
  await testEnv.nodes(...NODES.map(name => ({ name, labels: { kind: 'big' } })));
  await testEnv.pool('w', { labels: { tier: 'gold' }, nodeSelector: { kind: 'big' } });
  const edit = () => testEnv.edit('w', { spec: { nodeSelector: { kind: 'small' } } });
  const { code, stderr } = await editedDuring(t, ['reconcile', '--concurrency', '1'], edit);
  assert.deepEqual([code, stderr], [1, `error: w: ${CHANGED}`]);
});

test('move and add fail when the pool that loses or gets the nodes was edited meanwhile', async t => {
  await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b' }, { name: 'c' });
  await testEnv.pool('w', { labels: { tier: 'gold' } });
  await testEnv.pool('x');
  await testEnv.reconcile();
  for (const [tier, args] of [
    ['silver', ['move', 'a', '--to', 'x']],
    ['bronze', ['add', 'w', 'b', 'c', '--concurrency', '1']],
  ] as const) {
    const edit = () => testEnv.edit('w', { spec: { labels: { tier } } });
    const { code, stderr } = await editedDuring(t, [...args], edit);
    assert.deepEqual([code, stderr], [1, `error: ${CHANGED}`]);
  }
});
