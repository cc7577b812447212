/** `delete`: output, selection, dry runs, warnings and prompts. The finalizer: delete-finalizer.test.ts. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { allow, commandsOf, inTerminal, NO_TERMINAL, poolYaml } from './commands.ts';
import { container, createPods, deletePods } from './many-pods.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const ROLE = 'node-role.kubernetes.io/gpu';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

const id = (name: string) => `nodepool.nodes.lailin.xyz "${name}"`;

/** Pool gpu with nodes a and b, reconciled; it displaced a label of node a. */
async function gpu(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: { ...role('gpu'), tier: 'mine' } }, { name: 'b', labels: role('gpu') });
  await testEnv.pool('gpu', {
    labels: { tier: 'gold' },
    taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    handler: 'nvidia',
  });
  await testEnv.reconcile();
}

test('releases the nodes, restores displaced values and deletes the RuntimeClass without a controller', async () => {
  await gpu();
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'delete', 'gpu']);
  assert.deepEqual(
    { code, stdout, stderr },
    { code: 0, stdout: `${id('gpu')} deleted (2 nodes released)\n`, stderr: '' },
  );
  const [a, b] = [await testEnv.node('a'), await testEnv.node('b')];
  assert.deepEqual([a.metadata.labels.tier, taintsOf(a)], ['mine', []]);
  assert.deepEqual(['tier' in b.metadata.labels, taintsOf(b)], [false, []]);
  assert.deepEqual([a.metadata.labels[ROLE], b.metadata.labels[ROLE]], ['', '']);
  assert.deepEqual([await testEnv.getPool('gpu'), await testEnv.runtimeClass('gpu')], [undefined, undefined]);
});

test("--detach-nodes also removes membership labels, only from the pool's own nodes", async () => {
  await gpu();
  await testEnv.pool('other', { nodeSelector: role('gpu') }, { younger: true });
  await testEnv.patchNode('b', { metadata: { labels: { 'node-role.kubernetes.io/late': '' } } });
  await testEnv.pool('late', {}, { younger: true });
  assert.equal(await ok(['delete', 'late', '--detach-nodes']), `${id('late')} deleted\n`);
  assert.equal((await testEnv.node('b')).metadata.labels['node-role.kubernetes.io/late'], '');
  await ok(['delete', 'other']);
  assert.equal(await ok(['delete', 'gpu', '--detach-nodes']), `${id('gpu')} deleted (2 nodes released, 2 detached)\n`);
  for (const name of ['a', 'b']) assert.equal(ROLE in (await testEnv.node(name)).metadata.labels, false);
});

test('deletes existing pools and names missing ones, unless --ignore-not-found is set', async () => {
  const next = 'next: list the pools with `kubectl nodepool get`';
  await testEnv.pool('first');
  for (const dryRun of [['--dry-run'], ['--dry-run=server'], []]) {
    const { code, stdout, stderr } = await cli(cluster(), ['delete', 'first', 'nope', ...dryRun]);
    assert.deepEqual([code, stderr], [1, `error: nodepool "nope" not found; ${next}\n`]);
    assert.match(stdout, /^nodepool.nodes.lailin.xyz "first" deleted/);
  }
  await testEnv.pool('one');
  await refused(['delete', 'nope', 'nada'], 1, `error: nodepools "nope", "nada" not found; ${next}`);
  await refused(['delete', 'nope', '--ignore-not-found'], 0, '');
  // kubectl's type before the name: another object may be meant.
  for (const type of ['node', 'pool', 'pods']) {
    await refused(
      ['delete', type, 'one', '--ignore-not-found'],
      1,
      new RegExp(`^error: nodepool "${type}" not found; next: `),
    );
  }
  const out = await ok(['delete', 'nope', 'one', 'one', '--ignore-not-found']);
  assert.equal(out, `${id('one')} deleted\n`);
});

test('-l and --all select the pools to delete', async () => {
  for (const name of ['one', 'two', 'three']) {
    await testEnv.pool(name, {}, { metadata: { labels: { team: name === 'two' ? 'b' : 'a' } } });
  }
  await refused(['delete', '-l', 'team=x'], 0, 'No pools found.');
  await refused(['delete', '-l', ''], 2, /^error: -l: the selector is empty; /);
  await refused(['delete', 'one', '--all'], 2, /^error: a name cannot be provided when --all is specified; /);
  const [one, two, three] = ['one', 'two', 'three'].map(name => `${id(name)} deleted\n`);
  const next = 'to continue, run the command again with --yes';
  const needsYes = `error: 1 pool would be deleted: two; nothing was changed; next: ${next}`;
  await refused(['delete', '-l', 'team=b'], 1, needsYes);
  assert.equal(await ok(['delete', '-l', 'team=b', '--yes']), two);
  assert.equal(await ok(['delete', '--all', '--yes']), `${one}${three}`);
});

const PLAN = `node a (leaves pool gpu)
  - label node-role.kubernetes.io/gpu=  (membership)
  ~ label tier: gold -> mine  (left the pool, restored)
  - taint dedicated:NoSchedule  (left the pool)

node b (leaves pool gpu)
  - label node-role.kubernetes.io/gpu=  (membership)
  - label tier=gold  (left the pool)
  - taint dedicated:NoSchedule  (left the pool)

- RuntimeClass node-pool-gpu

2 nodes would change: 5 removed, 1 restored; 1 RuntimeClass would change

`;

test('client and server dry runs show the changes of nodes and RuntimeClass, and write nothing', async () => {
  await gpu();
  const client = await unchanged(['delete', 'gpu', '--detach-nodes', '--dry-run']);
  assert.deepEqual(client, { code: 0, stdout: `${PLAN}${id('gpu')} deleted (dry run)\n`, stderr: '' });
  const server = await unchanged(['delete', 'gpu', '--detach-nodes', '--dry-run=server']);
  const said = `${id('gpu')} deleted (2 nodes released, 2 detached) (server dry run)\n`;
  assert.deepEqual(server, { code: 0, stdout: PLAN + said, stderr: '' });
  for (const words of [['--dry-run'], ['--dry-run=server'], []]) {
    assert.equal(await ok(['delete', 'gpu', '-o', 'name', ...words]), 'nodepool.nodes.lailin.xyz/gpu\n');
  }
});

test('names workloads that need the RuntimeClass, and requires --yes in scripts', async t => {
  await gpu();
  const runtimeClassName = 'node-pool-gpu';
  t.after(() => deletePods(cluster()));
  await createPods(cluster(), 'a', [{ name: 'job', spec: { containers: [container('c', {})], runtimeClassName } }]);
  const spec = { containers: [container('c', {})], runtimeClassName };
  const labels = { app: 'train' };
  const template = { metadata: { labels }, spec };
  const controlled = { selector: { matchLabels: labels }, template };
  const jobTemplate = { spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } };
  for (const [path, body] of [
    ['apps/v1/namespaces/default/deployments', controlled],
    ['apps/v1/namespaces/default/statefulsets', { ...controlled, serviceName: 'train' }],
    ['apps/v1/namespaces/default/daemonsets', controlled],
    ['batch/v1/namespaces/default/cronjobs', { schedule: '0 0 * * *', jobTemplate }],
  ] as const) {
    await raw(cluster()).expect('POST', `/apis/${path}`, { metadata: { name: 'train' }, spec: body });
    t.after(() => raw(cluster()).expect('DELETE', `/apis/${path}/train`));
  }
  const warning =
    'warning: RuntimeClass node-pool-gpu would be deleted, but 5 workloads name it: CronJob default/train (0 pods), DaemonSet default/train (0 pods), Deployment default/train (0 pods), Pod default/a-job, StatefulSet default/train (0 pods). Running pods stay; the server would reject new pods until runtimeClassName is removed from the pod templates';
  for (const flag of ['--dry-run', '--dry-run=server']) {
    const dry = await unchanged(['delete', 'gpu', flag]);
    assert.deepEqual([dry.code, dry.stderr], [0, `${warning}\n`]);
  }
  await refused(
    ['delete', 'gpu'],
    1,
    `${warning.replace('warning', 'error')}; nothing was changed; next: to continue, run the command again with --yes`,
  );
  if (NO_TERMINAL === undefined) {
    const no = await inTerminal(cluster(), ['delete', 'gpu'], 'n\n', 400);
    assert.match(
      no.shown,
      /^(n\n)?(?:Impact:\n(?:[-+~ ] .*\n|(?:Pods that keep running|Not considered|Not checked).*\n)+)?Delete pool gpu \(releases 2 nodes\), removing\s+label\s+tier,\s+taint\s+dedicated:NoSchedule\s+in\s+context\s+\S+: RuntimeClass [^?]*\? \[y\/N\] nothing was deleted\n$/,
    );
  }
  const all = (group: string, resource: string) => {
    return { apiGroups: [group] as [string], resources: [resource] as [string], verbs: ['*'] };
  };
  await allow(cluster(), 'no-pods', [
    all('nodes.lailin.xyz', 'nodepools'),
    all('', 'nodes'),
    all('node.k8s.io', 'runtimeclasses'),
  ]);
  const blind = await unchanged(['delete', 'gpu', '--as', 'no-pods', '--dry-run']);
  assert.match(
    blind.stderr,
    /^warning: cannot tell which pods, Deployments without pods, .* use RuntimeClass node-pool-gpu, which would be deleted: .* pods/,
  );
  assert.match(blind.stdout, /^- RuntimeClass node-pool-gpu$/m);
  const { code, stderr } = await cli(cluster(), ['delete', 'gpu', '--yes']);
  assert.deepEqual([code, stderr], [0, `${warning}\n`]);
  assert.equal(await testEnv.runtimeClass('gpu'), undefined);
});

test('warns about a NoExecute taint that would be restored, and needs --yes', async t => {
  const noExecute = (value: string) => ({ key: 'draining', value, effect: 'NoExecute' as const });
  await testEnv.nodes({ name: 'a', labels: role('p'), taints: [noExecute('theirs')] });
  await testEnv.pool('p', { taints: [noExecute('ours')] });
  await testEnv.reconcile();
  t.after(() => deletePods(cluster()));
  const tolerations = [{ key: 'draining', value: 'ours', effect: 'NoExecute' }];
  await createPods(cluster(), 'a', [{ name: 'web', spec: { containers: [container('c', {})], tolerations } }]);

  const reported =
    /^NoExecute taints evict 1 pod at once from 1 node:\n.*\na +draining=theirs:NoExecute +1 +0 +default\/a-web\n/;
  for (const flag of ['--dry-run', '--dry-run=server']) {
    const dry = await unchanged(['delete', 'p', flag]);
    assert.equal(dry.code, 0);
    assert.match(dry.stderr, reported);
  }
  await refused(['delete', 'p'], 1, /^error: NoExecute taints evict 1 pod at once from 1 node \(a\): default\/a-web; /);
  if (NO_TERMINAL === undefined) {
    const no = await inTerminal(cluster(), ['delete', 'p'], 'n\n', 400);
    assert.match(
      no.shown,
      /Delete pool p \(releases 1 node\) in context \S+: NoExecute taints [^?]*\(a\): default\/a-web; /,
    );
    assert.match(no.shown, /\? \[y\/N\] (n?\n)?nothing was deleted\n$/);
    assert.equal(no.code, 1);
  }
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['draining=ours:NoExecute']);
  const { code, stdout, stderr } = await cli(cluster(), ['delete', 'p', '--yes']);
  assert.deepEqual([code, stdout], [0, `${id('p')} deleted (1 node released)\n`]);
  assert.match(stderr, reported);
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['draining=theirs:NoExecute']);
});

test('--all asks on a terminal', { skip: NO_TERMINAL ?? false }, async () => {
  await gpu();
  await testEnv.pool('spare');
  const { code, shown } = await inTerminal(cluster(), ['delete', '--all'], 'n\n');
  assert.equal(code, 1);
  assert.match(
    shown,
    /Delete pools gpu \(releases 2 nodes\), spare \(releases 0 nodes\), removing\s+label\s+tier,\s+taint\s+dedicated:NoSchedule\s+in\s+context\s+\S+\? \[y\/N\]/,
  );
  assert.ok(await testEnv.getPool('spare'));
});

test('asks on a terminal unless --yes is set', { skip: NO_TERMINAL ?? false }, async () => {
  await gpu();
  for (const typed of ['n\n', '\n', 'yess\n']) {
    const { code, shown } = await inTerminal(cluster(), ['delete', 'gpu'], typed);
    assert.equal(code, 1);
    assert.match(
      shown,
      /Delete pool gpu \(releases 2 nodes\), removing\s+label\s+tier,\s+taint\s+dedicated:NoSchedule\s+in\s+context\s+\S+\?\s+\[y\/N\] nothing was deleted\n$/,
    );
  }
  assert.notEqual(await testEnv.getPool('gpu'), undefined);
  // Without columns a spinner must not draw.
  const agreed = await inTerminal(cluster(), ['delete', 'gpu'], 'y\n', 0);
  assert.equal(agreed.code, 0, agreed.shown.slice(0, 500));
  assert.ok(agreed.shown.endsWith(`${id('gpu')} deleted (2 nodes released)\n`), agreed.shown.slice(0, 500));
  await testEnv.pool('gpu');
  const unasked = await inTerminal(cluster(), ['delete', 'gpu', '--yes'], '');
  assert.equal(unasked.code, 0);
  assert.doesNotMatch(unasked.shown, /\[y\/N\]/);
});

test('-i asks in a script and with --yes, as kubectl delete -i does', async () => {
  for (const name of ['one', 'two']) await testEnv.pool(name);
  const question =
    /^Delete pools one \(releases 0 nodes\), two \(releases 0 nodes\) in context\s+nodepool-demo\? \[y\/N\] /;
  for (const stdin of ['n\n', '', 'nothing\n']) {
    const { code, stdout, stderr } = await unchanged(['delete', 'one', 'two', '-i', '--yes'], { stdin });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, question);
    assert.match(stderr, /nothing was deleted\n$/);
  }
  const theirs = await kubectl(cluster(), ['delete', 'npool', 'one', 'two', '-i', '--wait=false'], { stdin: 'n\n' });
  assert.match(theirs.stdout, /\(y\/N\):/);
  await refused(['delete', '-f', '-', '-i'], 2, /^error: -i and -f - cannot be used together: both read stdin/);
  const { code, stdout, stderr } = await cli(cluster(), ['delete', '--all', '--interactive'], { stdin: 'y\n' });
  assert.match(stderr, question);
  assert.deepEqual([code, stdout], [0, `${id('one')} deleted\n${id('two')} deleted\n`]);
});

test('-f accepts patterns, and subdirectories with -R, as kubectl delete does', async () => {
  const folder = join(cluster().dir, 'delete-files');
  await mkdir(join(folder, 'deeper'), { recursive: true });
  for (const [path, name] of [
    ['one.yaml', 'one'],
    ['two.yaml', 'two'],
    ['deeper/three.yaml', 'three'],
  ] as const) {
    await testEnv.pool(name);
    await writeFile(join(folder, path), poolYaml(name));
  }
  for (const from of [[folder], ['-R', folder], ['*/t*.yaml'], ['o*.yaml', 'deeper'], ['nope*.yaml'], ['*', '-R']]) {
    const at = from.indexOf('-R');
    const files = from.toSpliced(at, at < 0 ? 0 : 1).flatMap(path => ['-f', join(folder, path === folder ? '' : path)]);
    const line = ['delete', ...files, ...(at < 0 ? [] : ['-R']), '--dry-run=server', '-o', 'name'];
    const [ours, theirs] = await Promise.all([cli(cluster(), line), kubectl(cluster(), line)]);
    assert.deepEqual([ours.stdout, ours.code], [theirs.stdout, theirs.code], `${line.join(' ')} ${theirs.stderr}`);
  }
});
