/** The status of a pool: how often it is written, and CRDs or permissions that prevent it. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli } from '../cluster/harness.ts';
import { setReady } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { useCrd } from './earlier-crd.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const SPEC = { labels: { tier: 'gold' }, taints: [{ key: 'gold', value: 'yes', effect: 'NoSchedule' as const }] };
const NO_STATUS = /the CRD nodepools.nodes.lailin.xyz serves no status subresource/;
const DROPPED =
  'the CRD nodepools.nodes.lailin.xyz is from another version and drops status.conditions, status.observedGeneration, status.readyNodeCount, status.unschedulableNodeCount, status.updatedNodeCount; next: run `kubectl nodepool install`';
const LOST =
  'the CRD nodepools.nodes.lailin.xyz is from another version and drops fields of the status; next: run `kubectl nodepool install`, then `kubectl nodepool reconcile`';

const run = (...args: string[]) => cli(testEnv.cluster(), args);
const tierOf = async (node: string) => (await testEnv.node(node)).metadata.labels.tier;
const reasons = async (pool: string) => (await testEnv.events(pool)).map(({ reason }) => reason).toSorted();

beforeEach(() => useCrd(testEnv.cluster(), 'ours'));

/** Two reconciled members, and one that joins under the current CRD. */
async function prepare(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b', labels: role('w') });
  await testEnv.pool('w', SPEC);
  assert.equal((await run('reconcile')).code, 0);
  await testEnv.nodes({ name: 'c', labels: role('w') });
}

test('without the status subresource, one run applies pools, releases no member and suggests install', async () => {
  await prepare();
  await useCrd(testEnv.cluster(), 'no status subresource');
  for (const again of [false, true]) {
    const mark = await auditMark(testEnv.cluster());
    const { code, stdout, stderr } = await run('reconcile');
    assert.equal(code, 1);
    const done = again ? 'unchanged' : '1 joined';
    assert.match(stdout, new RegExp(`^w +Failing +3 nodes \\(${done}\\).* 1 write failed\n$`));
    assert.equal(
      stderr,
      'error: w: cannot patch the status of NodePool "w": the CRD nodepools.nodes.lailin.xyz serves no status subresource; next: run `kubectl nodepool install`\n',
    );
    assert.deepEqual(await writes(testEnv.cluster(), mark), again ? {} : { 'patch nodes c': 1 });
  }
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(tierOf)), ['gold', 'gold', 'gold']);
  const reported = await reasons('w');
  assert.deepEqual(
    reported.filter(reason => reason === 'NodeJoined'),
    ['NodeJoined', 'NodeJoined'],
  );
  assert.ok(reported.includes('ReconcileFailed'), reported.join());
  assert.equal(reported.includes('NodeLeft'), false);
  const { stdout } = await run('doctor');
  assert.match(stdout, /version v1 has no subresource status[\s\S]*kubectl nodepool install/);
});

test('without the status subresource, a watch releases no member and recovers after install', async t => {
  await prepare();
  await useCrd(testEnv.cluster(), 'no status subresource');
  const mark = await auditMark(testEnv.cluster());
  const watch = await startWatching(t, testEnv.cluster());
  await eventually('it says what is wrong', () => NO_STATUS.test(watch.log()));
  // Changes are reconciled meanwhile.
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drifted' } } });
  await eventually('drift is repaired', async () => (await tierOf('a')) === 'gold');
  await sleep(1_000);
  assert.deepEqual(await writes(testEnv.cluster(), mark), { 'patch nodes a': 1, 'patch nodes c': 1 });
  assert.match(watch.log(), /run `kubectl nodepool install`/);

  assert.equal((await run('install')).code, 0);
  await eventually('the status is written', async () => (await testEnv.getPool('w'))?.status?.nodeCount === 3);
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(tierOf)), ['gold', 'gold', 'gold']);
  await testEnv.nodes({ name: 'd', labels: role('w') });
  await eventually('the pool goes on', async () => (await testEnv.getPool('w'))?.status?.nodeCount === 4);
  assert.equal((await reasons('w')).includes('NodeLeft'), false);
  assert.equal(await watch.end(), 0);
});

test('deletes and releases a pool without the status subresource in the CRD', async () => {
  await prepare();
  await useCrd(testEnv.cluster(), 'no status subresource');
  const { code, stdout } = await run('delete', 'w', '--yes');
  assert.deepEqual([code, stdout], [0, 'nodepool.nodes.lailin.xyz "w" deleted (2 nodes released)\n']);
  assert.equal(await testEnv.getPool('w'), undefined);
  assert.equal(await tierOf('a'), undefined);
});

test('reconcile, get and doctor report a CRD that drops status fields until install', async () => {
  await useCrd(testEnv.cluster(), 'earlier schema');
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', SPEC);
  const first = await run('reconcile');
  assert.deepEqual([first.code, first.stderr], [0, `warning: ${DROPPED}\n`]);
  assert.match(first.stdout, /^w +Ready +1 node \(1 joined\)/);
  const got = await run('get');
  assert.deepEqual([got.code, got.stderr], [0, `warning: ${LOST}\n`]);
  const { stdout } = await run('doctor');
  assert.match(stdout, /field status.observedGeneration is missing/);
  assert.match(stdout, /w: the CRD nodepools.nodes.lailin.xyz is from another version and drops fields of the status/);

  assert.equal((await run('install')).code, 0);
  const second = await run('reconcile');
  assert.deepEqual([second.code, second.stderr], [0, '']);
  assert.equal((await run('get')).stderr, '');
  assert.equal((await testEnv.getPool('w'))?.status?.observedGeneration, 1);
});

test('a watch reports a CRD that drops status fields once and recovers after install', async t => {
  await useCrd(testEnv.cluster(), 'earlier schema');
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', SPEC);
  await testEnv.pool('x');
  const watch = await startWatching(t, testEnv.cluster());
  await eventually('both are reconciled', async () => (await testEnv.getPool('x'))?.status?.status === 200);
  await eventually('it says what is dropped', () => watch.log().includes(DROPPED));
  await sleep(1_000);
  assert.equal(watch.log().split('drops status.').length - 1, 1, watch.log());
  assert.equal((await run('install')).code, 0);
  await eventually('fields are kept', async () => (await testEnv.getPool('w'))?.status?.observedGeneration === 1);
  assert.equal(await watch.end(), 0);
});

test('under the previous CRD, reconciles pools without repeated status writes', async t => {
  await useCrd(testEnv.cluster(), 'without updatedNodeCount');
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', SPEC);
  const watch = await startWatching(t, testEnv.cluster());
  await eventually('it is reconciled', async () => (await testEnv.getPool('w'))?.status?.nodeCount === 1);
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drifted' } } });
  await eventually('drift is repaired', async () => (await tierOf('a')) === 'gold');
  await sleep(1_000);
  const mark = await auditMark(testEnv.cluster());
  // Longer than the watch waits for a CRD with all that it needs.
  await sleep(11_000);
  assert.deepEqual(await writes(testEnv.cluster(), mark), {});
  assert.equal(watch.log().split('drops status.updatedNodeCount; next: run').length - 1, 1, watch.log());
  assert.equal((await run('install')).code, 0);
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drifted' } } });
  await eventually('it is counted', async () => (await testEnv.getPool('w'))?.status?.updatedNodeCount === 1);
  assert.equal(await watch.end(), 0);
});

test('without permission for nodepools/status, reconciles nodes, and events and summary report it', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const api = raw(testEnv.cluster());
  const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
  const rule = (apiGroup: string, ...resources: string[]) => ({ apiGroups: [apiGroup], resources, verbs });
  await api.expect('POST', `${rbac}/clusterroles`, {
    metadata: { name: 'no-status' },
    rules: [
      rule('', 'nodes', 'pods'),
      rule('nodes.lailin.xyz', 'nodepools'),
      rule('node.k8s.io', 'runtimeclasses'),
      rule('events.k8s.io', 'events'),
      rule('apps', 'controllerrevisions'),
    ],
  });
  await api.expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'no-status' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'no-status' },
    subjects: [{ kind: 'User', name: 'no-status', apiGroup: 'rbac.authorization.k8s.io' }],
  });
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', SPEC);
  const kubeconfig = await kubeconfigFor(testEnv.cluster(), 'no-status');
  await eventually('the role is known', async () => (await run('get', '--kubeconfig', kubeconfig)).code === 0);
  const { code, stdout, stderr } = await run('reconcile', '--kubeconfig', kubeconfig);
  assert.equal(code, 1);
  assert.match(stdout, /^w +Failing +1 node \(1 joined\).* 1 write failed\n$/);
  assert.equal(
    stderr,
    'error: w: user "no-status" may not patch the status of NodePool "w"; next: ask for a role with verb patch on nodepools.nodes.lailin.xyz/status\n',
  );
  assert.equal(await tierOf('a'), 'gold');
  assert.deepEqual(await reasons('w'), ['NodeJoined', 'ReconcileFailed']);
});

test('writes few statuses, ending with the last state, when Ready flips 15 times a second', {
  timeout: 90_000,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('one') });
  await testEnv.pool('one');
  const status = async () => (await testEnv.getPool('one'))?.status;
  await startWatching(t, testEnv.cluster());
  await eventually('it is reconciled', async () => (await status())?.readyNodeCount === 2);
  const mark = await auditMark(testEnv.cluster());
  const seconds = 10;
  const start = performance.now();
  for (let flip = 1; flip <= 15 * seconds; flip++) {
    await setReady(testEnv.cluster(), 'a', flip % 2 === 0);
    await sleep(Math.max(0, start + (flip * 1000) / 15 - performance.now()));
  }
  await setReady(testEnv.cluster(), 'a', false);
  const took = (performance.now() - start) / 1000;
  await eventually('the last state is written', async () => (await status())?.readyNodeCount === 1);
  const { 'patch nodepools/status one': written = 0 } = await writes(testEnv.cluster(), mark);
  assert.ok(written >= 10, `${written} writes: it is reported while it goes on`);
  assert.ok(written <= 20 + Math.ceil((took + 5) / 2), `${written} writes in ${took} s`);

  const { generation = 0 } = (await testEnv.getPool('one'))?.metadata ?? {};
  await testEnv.edit('one', { spec: { labels: { tier: 'gold' } } });
  const observed = async () => (await status())?.observedGeneration === generation + 1;
  await eventually('a new spec has its status', observed);
});
