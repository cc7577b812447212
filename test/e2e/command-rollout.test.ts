/** `rollout status`, `pause` and `resume`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { setReady } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { ok, refused } = commandsOf(testEnv.cluster);
const run = (...args: string[]) => cliHere(testEnv.cluster(), ['rollout', ...args]);
const names = ['a', 'b', 'c', 'd'];
const tiers = async () => Promise.all(names.map(async name => (await testEnv.node(name)).metadata.labels.tier));
const reasonIs = (reason: string) => async () =>
  (await testEnv.getPool('web'))?.status?.conditions?.some(
    each => each.type === 'Progressing' && each.reason === reason,
  );

async function prepare(settleSeconds: number): Promise<void> {
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 1, settleSeconds } });
  await testEnv.reconcile();
}

test('pause and resume support dry runs and output formats, and report errors', async () => {
  await prepare(0);
  const quoted = 'error: nodepools.nodes.lailin.xyz "web"';
  await refused(['rollout', 'resume', 'web'], 1, `${quoted} is not paused or stopped`);
  await refused(['rollout', 'pause', 'we'], 1, /^error: nodepool "we" not found; did you mean "web"\?/);
  await refused(['rollout', 'pauze', 'web'], 2, /pauze/);
  await refused(['rollout', 'status', 'web', '--dry-run'], 2, /--dry-run: status writes nothing/);
  for (const dryRun of ['client', 'server']) {
    const line = await ok(['rollout', 'pause', 'web', `--dry-run=${dryRun}`]);
    assert.match(line, /^nodepool\.nodes\.lailin\.xyz\/web paused \((server )?dry run\)\n$/);
    assert.equal((await testEnv.getPool('web'))?.spec.paused, undefined);
  }
  assert.equal(await ok(['rollout', 'pause', 'npool/web']), 'nodepool.nodes.lailin.xyz/web paused\n');
  assert.equal((await testEnv.getPool('web'))?.spec.paused, true);
  await refused(['rollout', 'pause', 'web'], 1, `${quoted} is already paused`);
  const printed = JSON.parse(await ok(['rollout', 'resume', 'web', '-o', 'json'])) as { spec: object };
  assert.ok(!('paused' in printed.spec));
  assert.deepEqual((await testEnv.getPool('web'))?.spec, printed.spec);
  assert.equal(await ok(['rollout', 'pause', 'web', '-o', 'name']), 'nodepool.nodes.lailin.xyz/web\n');
});

test('status follows the watch to the end, and checks once with --watch=false', { timeout: 120_000 }, async t => {
  await prepare(600);
  assert.equal(await ok(['rollout', 'status', 'web']), 'nodepool "web" successfully rolled out\n');
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'mine' } } });
  assert.equal(
    await ok(['rollout', 'status', 'web', '--watch=false']),
    'Waiting for nodepool "web" rollout to finish: 3 of 4 nodes updated...\n',
  );
  await testEnv.patchNode('a', { metadata: { labels: { tier: '1' } } });
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  const waits = 'Waiting for nodepool "web" spec update to be observed...\n';
  assert.equal(await ok(['rollout', 'status', 'web', '--watch=false']), waits);
  assert.equal(await ok(['rollout', 'status', 'web', '--no-watch']), waits);
  const late = await run('status', 'web', '-w', '--timeout=1s');
  assert.deepEqual([late.code, late.stdout], [1, waits]);
  assert.match(late.stderr, /^warning: no controller is running: .*\nerror: timed out waiting for the condition\n$/);
  await startWatching(t, testEnv.cluster());
  await eventually('the canary settles', reasonIs('RolloutInProgress'));
  const following = run('status', 'web');
  assert.equal(
    await ok(['rollout', 'status', 'web', '--watch=false']),
    'Waiting for nodepool "web" rollout to finish: 1 of 4 nodes updated, 1 settling (a), waiting for the canary (1) to settle...\n',
  );
  await testEnv.edit('web', { spec: { rollout: { settleSeconds: 0 } } });
  const { code, stdout, stderr } = await following;
  // The watch of this test does not elect a leader.
  assert.deepEqual([code, stderr.replace(/^warning: no controller is running: .*\n/, '')], [0, '']);
  assert.match(stdout, /nodepool "web" successfully rolled out\n$/);
  assert.deepEqual(await tiers(), ['2', '2', '2', '2']);
});

test('status fails if the rollout is stopped, and resume accepts the NotReady node', async t => {
  await prepare(1);
  await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { rollout: { settleSeconds: 600 }, labels: { tier: '2' } } });
  await eventually('the canary is changed', async () => (await tiers())[0] === '2');
  const following = run('status', 'web');
  await setReady(testEnv.cluster(), 'a', false);
  const { code, stderr } = await following;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: nodepool "web": 1 of 4 nodes updated; stopped: node a turned NotReady after the change; .* resume web`\n$/m,
  );
  // The exit code of a step that may not be done.
  assert.equal((await cliHere(testEnv.cluster(), ['reconcile', 'web'])).code, 3);
  assert.deepEqual(await tiers(), ['2', '1', '1', '1']);
  assert.equal(await ok(['rollout', 'resume', 'web']), 'nodepool.nodes.lailin.xyz/web resumed\n');
  // The accepted node proves nothing about the spec.
  await eventually('a Ready node is the canary', async () => String(await tiers()) === '2,2,1,1');
  await testEnv.edit('web', { spec: { rollout: { settleSeconds: 0 } } });
  await eventually('the others follow', async () => (await tiers()).every(tier => tier === '2'));
  // The status is written after the nodes; `refused` compares all objects.
  await eventually('the status says so', async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === 4);
  await refused(['rollout', 'resume', 'web'], 1, /is not paused or stopped/);
});

test('status reports a deleted or invalid pool', async () => {
  await refused(['rollout', 'status', 'web'], 1, /not found/);
  await prepare(0);
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  const following = run('status', 'web');
  await eventually('it follows', async () => {
    await testEnv.delete(['web']).catch(() => {});
    return (await testEnv.getPool('web')) === undefined;
  });
  const { code, stderr } = await following;
  assert.equal(code, 1);
  assert.match(stderr, /deleted|not found/);
});

test('commands on several pools continue after a failing one', async () => {
  await prepare(0);
  await testEnv.pool('db', {}, { metadata: { labels: { team: 'a' } } });
  const both = await run('pause', 'web', 'db');
  const line = (name: string, what: string) => `nodepool.nodes.lailin.xyz/${name} ${what}\n`;
  assert.deepEqual([both.code, both.stdout], [0, line('web', 'paused') + line('db', 'paused')]);
  const some = await run('resume', 'web', 'gone', 'db');
  assert.deepEqual([some.code, some.stdout], [1, line('web', 'resumed') + line('db', 'resumed')]);
  assert.match(some.stderr, /^error: nodepool "gone" not found/m);
  assert.equal(await ok(['rollout', 'pause', '-l', 'team=a']), line('db', 'paused'));
  assert.equal((await testEnv.getPool('web'))?.spec.paused, undefined);
  const none = await run('resume', '-l', 'team=z');
  assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'No pools found.\n']);
  await refused(['rollout', 'pause'], 2, /^error: no pool is specified; next: name a pool, or use -l SELECTOR$/m);
  await refused(['rollout', 'pause', 'web', '-l', 'a=b'], 2, /a name cannot be provided when a selector is specified/);
});
