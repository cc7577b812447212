/** spec.rollout on a real API server: NotReady nodes do not count as settled, and a stop is remembered for its spec. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RECORD_ANNOTATION, type RolloutStrategy, TRANSIENT_KEYS_ANNOTATION } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { deleteNodes, labelNode, setReady } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { sampleRollout } from './rollout-samples.ts';
import { condition, role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { ok, unchanged } = commandsOf(testEnv.cluster);
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const create = (count: number, ready = true) =>
  testEnv.nodes(...names(count).map(name => ({ name, labels: role('web'), ready })));
const edit = (spec: object) => testEnv.edit('web', { spec });
const tierOf = async (name: string) => (await testEnv.node(name)).metadata.labels.tier;
const withTier = async (of: readonly string[], tier: string) => {
  const tiers = await Promise.all(of.map(tierOf));
  return of.filter((_, at) => tiers[at] === tier);
};
/** Of the current generation. */
const says = (wanted: RegExp) => async () => {
  const pool = await testEnv.getPool('web');
  return (pool?.status?.conditions ?? []).some(
    ({ type, reason, message, observedGeneration }) =>
      type === 'Progressing' &&
      observedGeneration === pool?.metadata.generation &&
      wanted.test(`${reason}: ${message}`),
  );
};

/** A watch that brings tier 2 to nodes with tier 1; n0 is the first. */
async function begun(t: Parameters<typeof startWatching>[0], count: number, rollout: RolloutStrategy) {
  await create(count);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await edit({ labels: { tier: '2' } });
  return watching;
}
async function breakCanary() {
  await eventually('the canary is changed', async () => (await tierOf('n0')) === '2');
  await setReady(testEnv.cluster(), 'n0', false);
}

test('a broken node is not the canary of the next spec, and is changed last', { timeout: 120_000 }, async t => {
  const watching = await begun(t, 4, { canary: 1, maxConcurrent: 1, settleSeconds: 1 });
  await breakCanary();
  await eventually('it is stopped', says(/^RolloutStopped: .*node n0 turned NotReady/));
  const samples = await sampleRollout(t, testEnv.cluster(), '3', 1);
  await edit({ labels: { tier: '3' } });
  await eventually('all are changed', () => samples.changed() === 4);
  assert.deepEqual(samples.order(), ['n1', 'n2', 'n3', 'n0']);
  assert.ok(samples.afterCanary(1) >= 1_000, 'the others waited for the canary');
  await watching.end();
});

test('a pool with only NotReady nodes waits until one is Ready or a resume', {
  timeout: 120_000,
}, async t => {
  await create(3, false);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 1, settleSeconds: 1 } });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await edit({ labels: { tier: '2' } });
  const waits =
    /waiting for the canary \(1\) to settle; nodes n0, n1, n2 are NotReady: fix them, or continue without them /;
  await eventually('it waits', says(waits));
  assert.match(
    (await unchanged(['diff'])).stdout,
    /^pool web: none now, because no Ready node can be the canary; then 3 /m,
  );
  await setReady(testEnv.cluster(), 'n2', true);
  await eventually('all are changed', async () => (await withTier(names(3), '2')).length === 3);
  await setReady(testEnv.cluster(), 'n2', false);
  await eventually('it is over', says(/^Rollout(Stopped|Complete)/));
  await edit({ labels: { tier: '3' } });
  await eventually('it waits again', says(/^RolloutInProgress: .*n0, n1, n2 are NotReady/));
  await ok(['rollout', 'resume', 'web']);
  await eventually('all are changed', async () => (await withTier(names(3), '3')).length === 3);
  await watching.end();
});

test('a stop outlives the failed node, a pause, settings, another spec and the process', {
  timeout: 180_000,
}, async t => {
  let watching = await begun(t, 6, { canary: 1, settleSeconds: 1 });
  await breakCanary();
  await eventually('it is stopped', says(/^RolloutStopped: .*node n0 turned NotReady after the change; fix it, /));
  await deleteNodes(testEnv.cluster(), ['n0']);
  const isStopped = says(
    /^RolloutStopped: 0 of 5 nodes updated; stopped: node n0 turned NotReady after the change and is gone; /,
  );
  await eventually('it stays stopped', isStopped);
  const [first] = (await testEnv.getPool('web'))?.status?.stoppedRollouts ?? [];
  assert.deepEqual(first?.nodes, ['n0']);

  const rest = names(6).slice(1);
  const staysStopped = async (what: string) => {
    await eventually(`it stays stopped: ${what}`, isStopped);
    assert.deepEqual(await withTier(rest, '2'), [], what);
  };
  await edit({ paused: true });
  await eventually('it is paused', says(/^Paused/));
  await edit({ paused: null });
  await staysStopped('a pause');
  await edit({ rollout: { settleSeconds: 2 } });
  await staysStopped('settleSeconds');
  await edit({ startupTaints: [{ key: 'boot', effect: 'NoSchedule' }] });
  await staysStopped('startupTaints');
  await edit({ rollout: { stopOnNotReady: false } });
  await staysStopped('stopOnNotReady');
  await edit({ rollout: { stopOnNotReady: true, canary: null } });
  await staysStopped('no canary');
  await watching.end('SIGKILL');
  await edit({ rollout: { settleSeconds: 1 } });
  watching = await startWatching(t, testEnv.cluster());
  await staysStopped('another process');
  await edit({ labels: { tier: '3' } });
  await eventually('another spec goes on', says(/^RolloutComplete/));
  await edit({ labels: { tier: '2' } });
  await staysStopped('the spec again');
  const { stdout } = await unchanged(['diff']);
  assert.match(stdout, /^pool web: stopped: node n0 turned NotReady after the change and is gone; 5 nodes left$/m);
  await ok(['rollout', 'resume', 'web']);
  await eventually('it goes on', says(/^RolloutComplete/));
  assert.deepEqual(await withTier(rest, '2'), rest);
  assert.equal((await testEnv.getPool('web'))?.status?.stoppedRollouts, undefined);
  await watching.end();
});

test('a returning running node does not get a stopped spec', { timeout: 120_000 }, async t => {
  const watching = await begun(t, 5, { canary: 1, settleSeconds: 1 });
  await breakCanary();
  await eventually('it is stopped', says(/^RolloutStopped/));

  const [cluster, rest] = [testEnv.cluster(), names(5).slice(1)];
  const isThrottled = async (what: string) => {
    await eventually(what, says(/^RolloutStopped: 1 of 5 nodes updated; stopped: node n0 turned NotReady/));
    assert.deepEqual(await withTier(rest, '2'), [], what);
  };
  const recordOf = async (name: string) => (await testEnv.node(name)).metadata.annotations?.[RECORD_ANNOTATION];
  await testEnv.patchNode('n1', { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
  await eventually('n1 has another record', async () => (await recordOf('n1')) !== undefined);
  await isThrottled('a record that was lost');
  await labelNode(cluster, 'n2', { 'node-role.kubernetes.io/web': null });
  await eventually('n2 leaves', async () => (await tierOf('n2')) === undefined);
  await labelNode(cluster, 'n2', role('web'));
  await eventually('n2 is a member', async () => (await recordOf('n2')) !== undefined);
  await isThrottled('a label that was gone');
  await watching.end();

  // An hour after the nodes registered, without the memory of a process.
  await edit({ nodeSelector: { elsewhere: 'x' } });
  await testEnv.reconcileLater(60);
  assert.deepEqual(
    await Promise.all(rest.map(tierOf)),
    ['1', undefined, undefined, undefined],
    "that of n1 is nobody's",
  );
  await edit({ nodeSelector: null });
  await testEnv.reconcileLater(60);
  await testEnv.reconcileLater(60);
  await isThrottled('a selector that was edited and edited back');
  await ok(['rollout', 'resume', 'web']);
  await testEnv.reconcileLater(60);
  assert.equal((await withTier(rest, '2')).length, 1, 'the canary comes first, as it would have');
  await eventually('all are changed', async () => {
    await testEnv.reconcileLater(60);
    return (await withTier(names(5), '2')).length === 5;
  });
});

test('a node that fails during a pause stops its spec, even after it is deleted or leaves', {
  timeout: 120_000,
}, async t => {
  const watching = await begun(t, 4, { canary: 2, settleSeconds: 600 });
  await eventually('the canary is changed', async () => (await withTier(names(4), '2')).length === 2);
  await edit({ paused: true });
  await eventually('it is paused', says(/^Paused/));
  await setReady(testEnv.cluster(), 'n0', false);
  const stops = async () => (await testEnv.getPool('web'))?.status?.stoppedRollouts?.[0]?.nodes;
  await eventually('it is known', async () => (await stops())?.join() === 'n0');
  await testEnv.patchNode('n0', { metadata: { labels: { 'node-role.kubernetes.io/web': null } } });
  await edit({ paused: null });
  await eventually('it is stopped', says(/^RolloutStopped: .*node n0 turned NotReady after the change and is gone; /));
  await watching.end();
});

test('a node that was NotReady when changed stops the rollout if it recovers and fails again', {
  timeout: 120_000,
}, async t => {
  await create(3);
  await setReady(testEnv.cluster(), 'n2', false);
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { settleSeconds: 600 } });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await edit({ labels: { tier: '2' } });
  await eventually('all are changed', says(/^RolloutInProgress: 3 of 3 nodes updated, 3 settling/));
  await setReady(testEnv.cluster(), 'n2', true);
  await eventually('it is Ready', async () => (await testEnv.getPool('web'))?.status?.readyNodeCount === 3);
  await setReady(testEnv.cluster(), 'n2', false);
  await eventually('it is stopped', says(/^RolloutStopped: .*node n2 turned NotReady after the change/));
  await watching.end();
});

test('a node that its owner removes neither stops the rollout nor is a canary', { timeout: 120_000 }, async t => {
  const watching = await begun(t, 5, { canary: 1, settleSeconds: 600 });
  await eventually('the canary is changed', async () => (await tierOf('n0')) === '2');
  await testEnv.patchNode('n0', {
    spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }] },
  });
  await eventually('another is the canary', async () => (await tierOf('n1')) === '2');
  await testEnv.patchNode('n1', { metadata: { finalizers: ['example.com/machine'] } });
  await deleteNodes(testEnv.cluster(), ['n1']);
  await eventually('and the next one', async () => (await tierOf('n2')) === '2');
  for (const name of ['n0', 'n1']) await setReady(testEnv.cluster(), name, false);
  await eventually('they are NotReady', async () => (await testEnv.getPool('web'))?.status?.readyNodeCount === 3);
  assert.match(condition(await testEnv.getPool('web'), 'Progressing').message, /^3 of 5 nodes updated/);
  await testEnv.patchNode('n1', { metadata: { finalizers: null } });
  await deleteNodes(testEnv.cluster(), ['n0']);
  await edit({ rollout: { settleSeconds: 1 } });
  await eventually('it goes on', says(/^RolloutComplete: 3 of 3 nodes updated/));
  assert.equal(condition(await testEnv.getPool('web'), 'Progressing').reason, 'RolloutComplete');
  assert.equal((await cli(testEnv.cluster(), ['rollout', 'resume', 'web'])).code, 1);
  await watching.end();
});

test('the rollout waits for a node that is cordoned and then NotReady, without stopping', {
  timeout: 120_000,
}, async t => {
  await create(4);
  const rollout = { canary: 1, maxConcurrent: 1, settleSeconds: 1 };
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { ...rollout, settleSeconds: 600 } });
  await testEnv.edit('web', { metadata: { annotations: { [TRANSIENT_KEYS_ANNOTATION]: 'example.com/spot' } } });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await edit({ labels: { tier: '2' } });
  await eventually('the canary is changed', async () => (await tierOf('n0')) === '2');
  // A termination handler that only cordons, and the instance is gone.
  await testEnv.patchNode('n0', { spec: { unschedulable: true } });
  await setReady(testEnv.cluster(), 'n0', false);
  await eventually('it is waited for', says(/^RolloutInProgress: 1 of 4 nodes .*node n0 is NotReady/));
  await deleteNodes(testEnv.cluster(), ['n0']);
  await eventually('another is the canary', async () => (await tierOf('n1')) === '2');
  // A reboot, under a key that only this pool knows.
  await testEnv.patchNode('n1', { spec: { taints: [{ key: 'example.com/spot', effect: 'NoSchedule' }] } });
  await setReady(testEnv.cluster(), 'n1', false);
  await eventually('it is waited for', says(/^RolloutInProgress: 1 of 3 nodes .*node n1 is NotReady/));
  await edit({ rollout });
  await eventually('the setting is seen', says(/^RolloutInProgress: 1 of 3 nodes .*node n1 is NotReady/));
  assert.deepEqual(await withTier(names(4).slice(1), '2'), ['n1']);
  await setReady(testEnv.cluster(), 'n1', true);
  await eventually('it goes on', says(/^RolloutComplete: 3 of 3 nodes updated/));
  await watching.end();
});
