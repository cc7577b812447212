/** `reconcile --wait` goes on until pools are done or stopped, and `rollout status` says when nobody reconciles. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { setReady } from '../cluster/nodes.ts';
import { productCommand } from '../cluster/product.ts';
import { start } from './following.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const run = (...args: string[]) => cli(testEnv.cluster(), args);
const tiers = () => Promise.all(NAMES.map(async name => (await testEnv.node(name)).metadata.labels.tier));

async function prepare(rollout: object): Promise<void> {
  await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' }, rollout });
  await testEnv.reconcile();
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
}

test('--wait continues until all nodes have settled, prints progress, and exits with 0', async () => {
  await prepare({ canary: 1, maxConcurrent: 3, settleSeconds: 2 });
  const once = await run('reconcile', 'web');
  assert.equal(once.code, 0);
  assert.match(
    once.stdout,
    /1 of 6 nodes updated, 1 settling .*; the next step is due in \ds; to continue, run `kubectl nodepool reconcile \w+ --wait`\n$/,
  );
  const { code, stdout, stderr } = await run('reconcile', 'web', '--wait', '--timeout=2m');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^web +Ready +6 nodes \(5 updated\) .*\n$/);
  assert.match(stderr, /^web: 4 of 6 nodes updated, 3 settling/m);
  assert.deepEqual(await tiers(), Array(6).fill('2'));
  await testEnv.edit('web', { spec: { paused: true } });
  const nothingDue = await run('reconcile', 'web', '--wait');
  assert.deepEqual([nothingDue.code, nothingDue.stderr], [0, '']);
});

test('a later run of --wait does not repeat a warning', async () => {
  await testEnv.nodes(
    ...NAMES.map(name => ({ name, labels: { ...role('web'), ...(name === 'a' ? {} : { own: 'x' }) } })),
  );
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { canary: 1, maxConcurrent: 5, settleSeconds: 2 } });
  await testEnv.reconcile();
  await testEnv.edit('web', { spec: { labels: { tier: '2' }, unmanaged: 'Remove' } });
  const { code, stderr } = await run('reconcile', 'web', '--wait', '--timeout=2m');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^web: 1 of 6 nodes updated, 1 settling/m);
  assert.equal(stderr.match(/has unmanaged: Remove/g)?.length, 1, stderr);
});

test('--wait exits with 3 if the rollout stops, and with 1 at the timeout', async () => {
  await prepare({ canary: 1, maxConcurrent: 1, settleSeconds: 3600 });
  const late = await run('reconcile', 'web', '--wait', '--timeout=5s');
  assert.equal(late.code, 1);
  assert.match(
    late.stderr,
    /^error: web: timed out after 5 s: 1 of 6 nodes updated, .*; next: continue with `kubectl nodepool reconcile web --wait` and a longer --timeout$/m,
  );
  await setReady(testEnv.cluster(), 'a', false);
  const stopped = await run('reconcile', 'web', '--wait');
  assert.equal(stopped.code, 3, stopped.stderr);
  assert.match(stopped.stdout, /stopped: node a turned NotReady after the change/);
  await testEnv.edit('web', { spec: { paused: true } });
  for (const args of [['web', '--quiet'], []]) {
    const paused = await run('reconcile', ...args, '--wait');
    assert.equal(paused.code, 3, paused.stderr);
    assert.match(paused.stderr, /^web: paused, with changes due; .*`kubectl nodepool rollout resume web`$/m);
  }
  for (const args of [['--watch'], ['--dry-run=server']])
    assert.equal((await run('reconcile', '--wait', ...args)).code, 2);
});

test('Ctrl-C during a pause of --wait exits with 130, and loses nothing', async t => {
  await prepare({ canary: 1, maxConcurrent: 1, settleSeconds: 3600 });
  const [program, ...first] = productCommand();
  const following = start(t, testEnv.cluster(), [program, ...first, 'reconcile', 'web', '--wait']);
  await eventually('it waits', () => /1 of 6 nodes updated/.test(following.stderr()));
  assert.equal(await following.end(), 130);
  assert.match(following.stdout(), /^web +Progressing +6 nodes \(1 updated\)/);
  assert.match(following.stderr(), /^interrupted: web not done; run the command again to finish$/m);
});

test('rollout status reports at once that no controller holds the lease', async () => {
  await prepare({ maxConcurrent: 1, settleSeconds: 0 });
  assert.equal((await run('rollout', 'status', 'web', '--watch=false')).stderr, '');
  const followed = await run('rollout', 'status', 'web', '--timeout=3s');
  assert.equal(
    followed.stderr,
    'warning: no controller is running: this pool is not reconciled, unless `reconcile --watch` runs elsewhere; next: run `kubectl nodepool reconcile web --wait`\nerror: timed out waiting for the condition\n',
  );
  await testEnv.edit('web', { spec: { paused: true } });
  const paused = await run('rollout', 'status', 'web', '--timeout=3s');
  assert.match(
    paused.stderr,
    /^warning: .*; next: run `kubectl nodepool rollout resume web`, then `kubectl nodepool reconcile web --wait`$/m,
  );
  await testEnv.edit('web', { spec: { paused: null } });
  const done = await run('reconcile', 'web', '--wait');
  assert.equal(done.code, 0, done.stderr);
  assert.equal((await run('rollout', 'status', 'web')).stderr, '');
});

test('Events of a watch that a person runs name the person, not the controller', async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: '1' } });
  const [program, ...first] = productCommand();
  const following = start(t, testEnv.cluster(), [program, ...first, 'reconcile', '--watch']);
  const events = async () =>
    JSON.parse((await run('events', 'web', '-o', 'json')).stdout || '{"items":[]}').items as {
      reportingController: string;
      reportingInstance: string;
    }[];
  await eventually('it has reported', async () => (await events()).length > 0);
  for (const { reportingController, reportingInstance } of await events()) {
    assert.equal(reportingController, 'kubectl-nodepool');
    assert.match(reportingInstance, /^kubectl-nodepool-/);
  }
  await following.end();
});
