/** The next owners: other pools that match the nodes of a deleted pool. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { deletePools, findPools } from '../../src/commands/shared/delete/delete.ts';
import { systemClock } from '../../src/controller/clock.ts';
import { NodepoolError, type Warning, warningText } from '../../src/nodepool/errors.ts';
import { cliHere } from '../cluster/harness.ts';
import { override } from '../override.ts';
import { condition, role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('reconciles pools that gain or lose the nodes, and writes no other nodes', async () => {
  const both = { ...role('old'), kind: 'big' };
  await testEnv.nodes(
    { name: 'a', labels: both },
    { name: 'b', labels: both },
    { name: 'c', labels: role('old') },
    { name: 'd', labels: { kind: 'big' } },
  );
  await testEnv.pool('old', { labels: { tier: 'gold' } });
  await testEnv.pool('big', { nodeSelector: { kind: 'big' }, labels: { size: 'l' } }, { younger: true });
  await testEnv.pool('late', { nodeSelector: { kind: 'big' } }, { younger: true });
  await testEnv.reconcile();
  assert.equal((await testEnv.getPool('big'))?.status?.status, 409);

  const said = (text: string) =>
    `nodepool.nodes.lailin.xyz "old" deleted (3 nodes released, 2 of them to pool big${text}`;
  const before = (await testEnv.node('d')).metadata.resourceVersion;
  const dry = await cliHere(testEnv.cluster(), ['delete', 'old', '--dry-run=server']);
  assert.match(
    dry.stdout,
    /^moves from pool old to pool big: 2 nodes \(a, b\)\n {2}\+ label size=l .*\n {2}- label tier=gold .*\n\nnode c \(leaves pool old\)\n/,
  );
  assert.ok(dry.stdout.endsWith(`\n\n${said(') (server dry run)\n')}`), dry.stdout);
  assert.equal(dry.stderr, '');
  const { stdout, stderr } = await cliHere(testEnv.cluster(), ['delete', 'old', '--detach-nodes']);
  assert.deepEqual([stdout, stderr], [said(', 3 detached)\n'), '']);
  const big = (await testEnv.getPool('big'))?.status;
  assert.deepEqual([big?.status, big?.nodeCount, big?.allocatable?.cpu], [200, 3, '12']);
  assert.match(condition(await testEnv.getPool('late'), 'Conflict').message, /^nodes a, b, d belong to pool big /);
  assert.equal((await testEnv.node('a')).metadata.labels.size, 'l');
  assert.equal((await testEnv.node('d')).metadata.resourceVersion, before);
  const patched = await testEnv.reconcile('big', 'late');
  assert.deepEqual(
    patched.map(({ outcome }) => outcome?.statusWritten),
    [false, false],
  );
});

test('reconciles the next owners of an unreconciled pool, and names pools with remaining changes', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('old'), kind: 'big' } }, { name: 'b', labels: { kind: 'big' } });
  await testEnv.pool('old', { labels: { tier: 'gold' } });
  await testEnv.pool('big', { nodeSelector: { kind: 'big' }, labels: { size: 'l' } }, { younger: true });
  const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['delete', 'old']);
  const reported =
    'warning: big: 1 other node differs from the labels and taints of the pool, and the status was not written; next: run `kubectl nodepool reconcile big`\n';
  const done = 'nodepool.nodes.lailin.xyz "old" deleted (1 node released to pool big)\n';
  assert.deepEqual([code, stdout, stderr], [0, done, reported]);
  assert.equal((await testEnv.node('a')).metadata.labels.size, 'l');
  assert.equal('size' in (await testEnv.node('b')).metadata.labels, false);
});

test('removes the label of a node without a record, and warns about unmanaged: Remove', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('old'), kind: 'big', vendor: 'x' } });
  await testEnv.pool('old');
  await testEnv.pool('big', { nodeSelector: { kind: 'big' }, unmanaged: 'Remove' }, { younger: true });
  const { stdout, stderr } = await cliHere(testEnv.cluster(), ['delete', 'old', '--detach-nodes']);
  assert.match(stderr, /^warning: pool big has unmanaged: Remove: other labels and taints of 1 node are removed/);
  assert.equal(stdout, 'nodepool.nodes.lailin.xyz "old" deleted (1 node released to pool big, 1 detached)\n');
  const { labels } = (await testEnv.node('a')).metadata;
  assert.deepEqual(
    [Object.keys(role('old')).filter(key => key in labels), labels.kind, labels.vendor],
    [[], 'big', undefined],
  );
});

/** Pool old owns node a, pool big is to inherit it; old is deleted with a call of the cluster that fails. */
async function deleteFailing(call: 'patch' | 'patchStatus' | 'setFinalizers') {
  await testEnv.nodes({ name: 'a', labels: { ...role('old'), kind: 'big' } });
  await testEnv.pool('old');
  await testEnv.pool('big', { nodeSelector: { kind: 'big' }, labels: { size: 'l' } }, { younger: true });
  // Without it old has no record that it would have to take off the node: only big has something to write.
  if (call !== 'patch') await testEnv.reconcile();
  const connection = await testEnv.connection();
  const fail = async () => {
    throw new NodepoolError('cluster', 'not today');
  };
  const cluster = override(connection.cluster, { [call === 'patch' ? 'nodes' : 'pools']: { [call]: fail } });
  const warn = (said: readonly Warning[]) => void testEnv.warnings.push(...said.map(warningText));
  const deps = {
    ...connection,
    cluster,
    now: () => new Date(),
    clock: systemClock,
    sleep: (ms: number) => sleep(ms),
    warn,
  };
  const { pools } = await findPools({ names: ['old'], detachNodes: false, ignoreNotFound: false }, deps.cluster);
  const [result] = await deletePools({ ...deps, pools, detachNodes: false, concurrency: 8 });
  return result?.error?.message ?? result?.outcome?.failures[0]?.message ?? result?.outcome?.kind;
}

test('warns when the status of a next owner cannot be written, and deletes the pool', async () => {
  assert.equal(await deleteFailing('patchStatus'), 'released');
  assert.deepEqual(testEnv.warnings, ['big is not up to date: not today; next: run `kubectl nodepool reconcile big`']);
});

test('does not count a failed node write in the status of a next owner', async () => {
  assert.equal(await deleteFailing('patch'), 'released');
  assert.deepEqual(testEnv.warnings, ['big is not up to date: not today; next: run `kubectl nodepool reconcile big`']);
  assert.equal((await testEnv.getPool('big'))?.status?.status, undefined);
});

test('updates the next owners even if the delete fails, and can be repeated', async () => {
  assert.equal(await deleteFailing('setFinalizers'), 'not today');
  assert.equal((await testEnv.getPool('big'))?.status?.nodeCount, 1);
  const [again] = await testEnv.delete(['old']);
  assert.equal(again?.outcome?.kind, 'released');
  assert.deepEqual((await testEnv.getPool('big'))?.status?.nodeCount, 1);
});
