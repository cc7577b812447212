/** A CRD of an earlier version replaces ours and drops spec.nodeSelector of pools that have one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cliHere } from '../cluster/harness.ts';
import { setReady } from '../cluster/nodes.ts';
import { commandsOf, stateOf } from './commands.ts';
import { useCrd } from './earlier-crd.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused } = commandsOf(cluster);
const SAYS =
  /pool p is not changed: the installed CRD drops spec\.nodeSelector, or an earlier write under such a CRD dropped it; next: run `kubectl nodepool install`/;

/** Pool p with node a; node b has the label that p would select without its nodeSelector. */
async function prepare(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: { kind: 'big' } }, { name: 'b', labels: role('p') });
  await testEnv.pool('p', { nodeSelector: { kind: 'big' }, taints: [{ key: 'big', effect: 'NoSchedule' }] });
  await testEnv.reconcile();
}

const taints = async () => [taintsOf(await testEnv.node('a')), taintsOf(await testEnv.node('b'))];

test('writes neither nodes nor pools while the CRD drops a field, and install restores it', async t => {
  await prepare();
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  const before = await stateOf(cluster());
  const { code, stderr } = await cliHere(cluster(), ['reconcile']);
  assert.equal(code, 1);
  assert.match(stderr, SAYS);
  assert.deepEqual(await stateOf(cluster()), before);
  await refused(['edit', 'p', '--label', 'tier=x'], 1, SAYS);
  await testEnv.pool('q');
  for (const args of [
    ['add', 'p', 'b'],
    ['remove', 'p', 'a'],
    ['move', 'b', '--to', 'p'],
    ['move', 'a', '--to', 'q'],
  ])
    await refused(args, 1, SAYS);
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);

  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  assert.equal((await cliHere(cluster(), ['reconcile'])).code, 0);
  assert.deepEqual((await testEnv.getPool('p'))?.spec.nodeSelector, { kind: 'big' });
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);
});

test('keeps annotations and startup taints of nodes while the CRD drops these fields', async t => {
  await testEnv.nodes({ name: 'a', labels: role('p') }, { name: 'b', labels: role('q') });
  const setup = { key: 'setup', effect: 'NoSchedule' as const };
  await testEnv.pool('p', { startupTaints: [setup] });
  await testEnv.pool('q', { annotations: { note: 'x' } });
  await testEnv.reconcile();
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  const before = await stateOf(cluster());
  const { code, stderr } = await cliHere(cluster(), ['reconcile']);
  assert.equal(code, 1);
  assert.match(stderr, /pool p is not changed: the installed CRD drops spec\.startupTaints, .*install/);
  assert.match(stderr, /pool q is not changed: the installed CRD drops spec\.annotations, /);
  assert.deepEqual(await stateOf(cluster()), before);
  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  assert.deepEqual(
    [taintsOf(await testEnv.node('a')), (await testEnv.getPool('p'))?.spec.startupTaints],
    [['setup:NoSchedule'], [setup]],
  );
});

test('a watch that starts with such a CRD writes nothing, and continues after install', {
  timeout: 120_000,
}, async t => {
  await prepare();
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  const watching = await startWatching(t, cluster());
  await eventually('it says so', () =>
    /drops spec\.nodeSelector; next: run `kubectl nodepool install`/.test(watching.log()),
  );
  await sleep(2_000);
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);

  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  await testEnv.edit('p', { spec: { labels: { tier: 'gold' } } });
  await eventually('it reconciles', async () => (await testEnv.node('a')).metadata.labels.tier === 'gold');
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);
  assert.equal(await watching.end(), 0);
});

test('a running watch stops writing when the CRD is replaced, and continues after install', {
  timeout: 120_000,
}, async t => {
  await prepare();
  const watching = await startWatching(t, cluster());
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  // A change of members would write the status, and with it the pool as the server decodes it now.
  await testEnv.nodes({ name: 'c', labels: { ...role('p'), kind: 'big' } });
  await eventually('it says so', () =>
    /drops spec\.nodeSelector; next: run `kubectl nodepool install`/.test(watching.log()),
  );
  await sleep(2_000);
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);

  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  await eventually('c is reconciled', async () => taintsOf(await testEnv.node('c'))[0] === 'big:NoSchedule');
  assert.deepEqual((await testEnv.getPool('p'))?.spec.nodeSelector, { kind: 'big' });
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);
  assert.equal(await watching.end(), 0);
});

test('a running watch writes no status while the CRD drops fields of it', {
  timeout: 120_000,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  const spec = {
    noExecute: 'Drain' as const,
    startupTaints: [{ key: 'setup', effect: 'NoSchedule' as const }],
    labels: { tier: 'gold' },
  };
  await testEnv.pool('p', spec);
  await testEnv.reconcile();
  const watching = await startWatching(t, cluster());
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  await setReady(cluster(), 'a', false);
  await eventually('it says so', () => /drops spec\.startupTaints, spec\.noExecute/.test(watching.log()));
  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  assert.deepEqual((await testEnv.getPool('p'))?.spec, spec);
  await eventually('it is reconciled', async () => (await testEnv.getPool('p'))?.status?.readyNodeCount === 0);
  assert.equal(await watching.end(), 0);
});

test('create and edit suggest install for a field that the CRD lacks', async t => {
  await testEnv.pool('q');
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  const says = (verb: string, name: string) =>
    new RegExp(
      `cannot ${verb} NodePool "${name}": the CRD nodepools\\.nodes\\.lailin\\.xyz is from another version: unknown field "spec\\.nodeSelector"; next: run \`kubectl nodepool install\``,
    );
  await refused(['create', 'fresh', '--node-selector', 'kind=big'], 1, says('create', 'fresh'));
  await refused(['edit', 'q', '--node-selector', 'kind=big'], 1, says('patch', 'q'));
  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  assert.equal((await cliHere(cluster(), ['create', 'fresh', '--node-selector', 'kind=big'])).code, 0);
});

test('deletes a pool and releases its nodes while the CRD drops one of its fields', async t => {
  await prepare();
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  const { code, stderr } = await cliHere(cluster(), ['delete', 'p', '--yes']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual([await taints(), await testEnv.getPool('p')], [[[], []], undefined]);
});

test('does not reconcile a wider selector when the CRD drops only the expressions', async t => {
  await testEnv.nodes(
    { name: 'a', labels: { kind: 'big', size: '8' } },
    { name: 'b', labels: { kind: 'big', size: '2' } },
  );
  const matchExpressions = [{ key: 'size', operator: 'Gt', values: ['4'] }];
  const taints = [{ key: 'big', effect: 'NoSchedule' as const }];
  await testEnv.pool('p', { nodeSelector: { kind: 'big' }, matchExpressions, taints });
  await testEnv.reconcile();
  const watching = await startWatching(t, cluster());
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'without matchExpressions');
  const { code, stderr } = await cliHere(cluster(), ['reconcile']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /pool p is not changed: the installed CRD drops spec\.matchExpressions, or an earlier write under such a CRD dropped it/,
  );
  await testEnv.nodes({ name: 'c', labels: { kind: 'big', size: '6' } });
  await testEnv.patchNode('b', { metadata: { labels: { other: 'x' } } });
  await sleep(2_000);
  const tainted = async () => Promise.all(['a', 'b', 'c'].map(async name => taintsOf(await testEnv.node(name)).length));
  assert.deepEqual((await tainted()).slice(0, 2), [1, 0]);
  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  await eventually('c is reconciled', async () => (await tainted())[2] === 1);
  assert.deepEqual(await tainted(), [1, 0, 1]);
  assert.deepEqual((await testEnv.getPool('p'))?.spec.matchExpressions, matchExpressions);
  assert.equal(await watching.end(), 0);
});

test('reconciles the pool after a lost field is set again', async t => {
  await prepare();
  t.after(() => useCrd(cluster(), 'ours'));
  await useCrd(cluster(), 'earlier schema');
  // As kubectl annotate does: the server stores what it decodes.
  await testEnv.edit('p', { metadata: { annotations: { note: 'theirs' } } });
  assert.equal((await cliHere(cluster(), ['install'])).code, 0);
  const { code, stderr } = await cliHere(cluster(), ['reconcile']);
  assert.equal(code, 1);
  assert.match(stderr, SAYS);
  await refused(['edit', 'p', '--label', 'tier=x'], 1, SAYS);
  for (const command of ['get', 'describe']) {
    assert.match(
      (await cliHere(cluster(), [command, 'p'])).stderr,
      /^warning: pool p is not changed: .* drops spec\.nodeSelector/m,
    );
  }
  assert.equal((await cliHere(cluster(), ['edit', 'p', '--node-selector', 'kind=big'])).code, 0);
  assert.equal((await cliHere(cluster(), ['reconcile'])).code, 0);
  assert.deepEqual(await taints(), [['big:NoSchedule'], []]);
});
