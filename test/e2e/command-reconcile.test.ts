/** Output and exit codes of `reconcile` and `diff`. The reconciler itself: reconcile*.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { labelNode } from '../cluster/nodes.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

const MISSING = 'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`';

test('diff shows each change with its reason and exits with 1, or with 0 without changes', async () => {
  await testEnv.nodes(
    { name: 'a', labels: role('gpu') },
    { name: 'b', labels: { ...role('gpu'), tier: 'mine' } },
    { name: 'c', labels: { ...role('gpu'), ...role('late') } },
    { name: 'd' },
  );
  await testEnv.pool('gpu', {
    labels: { tier: 'gold', old: '1' },
    taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
  });
  await testEnv.reconcile();
  assert.equal(await ok(['diff']), '');

  await testEnv.pool('late', { labels: { q: 'r' } }, { younger: true });
  await testEnv.edit('gpu', { spec: { labels: { tier: 'silver', old: null }, handler: 'runc' } });
  await testEnv.patchNode('a', { spec: { taints: null } });
  await labelNode(cluster(), 'b', { 'node-role.kubernetes.io/gpu': null });
  await labelNode(cluster(), 'd', role('gpu'));
  const all = `node a (pool gpu)
  ~ label tier: gold -> silver  (spec)
  - label old=1  (spec)
  + taint dedicated:NoSchedule  (drift)

node b (leaves pool gpu)
  - label old=1  (left the pool)
  ~ label tier: gold -> mine  (left the pool, restored)
  - taint dedicated:NoSchedule  (left the pool)

node c (pool gpu)
  ~ label tier: gold -> silver  (spec)
  - label old=1  (spec)

node d (joins pool gpu)
  + label tier=silver  (spec)
  + taint dedicated:NoSchedule  (spec)

+ RuntimeClass node-pool-gpu

! node c belongs to pool gpu but also matches pool late (conflict); not applied: q

4 nodes would change: 3 set, 2 changed, 4 removed, 1 restored; 1 RuntimeClass would change
`;
  const shown = await unchanged(['diff']);
  assert.deepEqual(shown, { code: 1, stdout: all, stderr: '' });
  const late = await kubectl(cluster(), ['nodepool', 'diff', 'late']);
  const conflict = '! node c belongs to pool gpu but also matches pool late (conflict); not applied: q\n';
  assert.deepEqual([late.code, late.stdout], [0, conflict]);
  await refused(['diff', 'nope'], 2, MISSING);
  await refused(['diff', '--nope'], 2, "error: unknown flag --nope\nSee 'kubectl nodepool diff --help'.");
});

test('diff and dry runs group nodes with the same changes, and --by-node shows each', async () => {
  const domain = 'eu-central-1.compute.internal';
  const names = Array.from({ length: 25 }, (_, at) => `ip-10-0-1-${at + 10}.${domain}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.edit('web', { spec: { labels: { tier: 'silver' } } });
  await labelNode(cluster(), names[7] ?? '', { tier: 'mine' });
  const blocks = `pool web: 24 nodes (ip-10-0-1-10…, ip-10-0-1-11…, ip-10-0-1-12… and 21 more)
  ~ label tier: gold -> silver  (spec)

node ${names[7]} (pool web)
  ~ label tier: mine -> silver  (spec; value set by `;
  const diff = await unchanged(['diff']);
  assert.equal(diff.stdout.slice(0, blocks.length), blocks);
  assert.match(diff.stdout, /\n\n25 nodes would change: 25 changed\n$/);
  const dry = await unchanged(['reconcile', '--dry-run']);
  assert.equal(dry.stdout.slice(0, blocks.length), blocks);
  for (const words of [['diff'], ['reconcile', '--dry-run']]) {
    const { stdout } = await unchanged([...words, '--by-node']);
    assert.deepEqual(
      stdout.match(/^node \S+ \(pool web\)$/gm),
      names.map(name => `node ${name} (pool web)`),
    );
  }
  const why = 'error: --by-node needs --dry-run; next: add --dry-run, or leave out --by-node';
  await refused(['reconcile', '--by-node'], 2, `${why}\nSee 'kubectl nodepool reconcile --help'.`);
  for (const words of [['diff'], ['reconcile', '--dry-run']])
    await refused(
      [...words, '--by-node', '-o', 'json'],
      2,
      /^error: --by-node cannot be combined with -o json; next: leave it out\n/,
    );
  // Before anything is asked of a cluster, or of a plugin that logs in.
  const noCluster = ['reconcile', '--wait', '--kubeconfig', '/none'];
  await refused([...noCluster, '--dry-run'], 2, /^error: --wait and --dry-run cannot be used together/);
  await refused([...noCluster, '--timeout', 'x'], 2, /^error: --timeout: "x" is not a duration/);
});

test('diff warns about unmanaged: Remove and names what it removes', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('gpu'), 'cloud.example.com/zone': 'z' } });
  await testEnv.pool('gpu', { unmanaged: 'Remove' });
  const { code, stdout, stderr } = await unchanged(['diff', 'gpu']);
  assert.match(stderr, /^warning: pool gpu has unmanaged: Remove: .*restored when the pool releases the nodes\n$/);
  assert.equal(code, 1);
  assert.match(stdout, /cloud\.example\.com\/zone=z {2}\(unmanaged: set by \w+ \d+s ago\)/);
});

test('reconcile prints one line per pool, accepts names, and changes nothing again', async () => {
  await refused(['reconcile'], 0, 'No pools found. Create one with `kubectl nodepool create`.');
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('worker') });
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, handler: 'nvidia' });
  await testEnv.pool('worker', { labels: { tier: 'brass' } });
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'reconcile', 'gpu']);
  assert.deepEqual(
    { code, stdout, stderr },
    { code: 0, stdout: 'gpu  Ready  1 node (1 joined, RuntimeClass created)  cpu 4  memory 2.9Gi\n', stderr: '' },
  );
  assert.equal('tier' in (await testEnv.node('b')).metadata.labels, false);
  await refused(['reconcile', 'gpu', 'nope'], 1, MISSING);

  await testEnv.edit('gpu', { spec: { labels: { tier: 'silver' } } });
  await labelNode(cluster(), 'a', { x: 'y' });
  assert.equal(
    await ok(['reconcile', '--concurrency', '1']),
    `gpu     Ready  1 node (1 updated, RuntimeClass updated)  cpu 4  memory 2.9Gi
worker  Ready  1 node (1 joined)                         cpu 4  memory 2.9Gi
`,
  );
  const again = await unchanged(['reconcile']);
  const still = ['gpu   ', 'worker'].map(name => `${name}  Ready  1 node (unchanged)  cpu 4  memory 2.9Gi\n`);
  assert.deepEqual(again, { code: 0, stdout: still.join(''), stderr: '' });
});

test('reconcile accepts -l and --all', async () => {
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'a' } } });
  await testEnv.pool('cpu');
  assert.match(await ok(['reconcile', '-l', 'team=a']), /^gpu +Empty [^\n]*\n$/);
  await refused(['reconcile', '-l', 'team=x'], 0, 'No pools found.');
  assert.match(await ok(['reconcile', '--all']), /^cpu [^\n]*\ngpu [^\n]*\n$/);
  await refused(['reconcile', 'gpu', '--all'], 2, /^error: a name cannot be provided when --all is specified; /);
  await refused(['reconcile', '--watch', '-l', 'team=a'], 2, /^error: --watch reconciles all pools; /);
});

test('-o json prints the result of each pool, and --quiet prints nothing', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') });
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, handler: 'runc' });
  await testEnv.pool('late', { nodeSelector: role('gpu') }, { younger: true });
  const results = (stdout: string) => JSON.parse(stdout) as { dryRun: boolean; items: Record<string, unknown>[] };
  const dry = await unchanged(['reconcile', 'gpu', '--dry-run=server', '-o', 'json']);
  assert.deepEqual([dry.code, results(dry.stdout).dryRun], [0, true]);
  const client = await unchanged(['reconcile', '--dry-run=client', '-o', 'json']);
  const server = await unchanged(['reconcile', '--dry-run=server', '-o', 'json']);
  const { code, stdout } = await cliHere(cluster(), ['reconcile', '-o', 'json']);
  const { items } = results(stdout);
  for (const dryRun of [client, server]) {
    assert.deepEqual([dryRun.code, results(dryRun.stdout).dryRun], [3, true]);
    assert.deepEqual(results(dryRun.stdout).items, items);
  }
  assert.equal(code, 3);
  const nodes = { joined: 2, left: 0, updated: 0, unwritten: 0 };
  const gpu = { pool: 'gpu', result: 'reconciled', status: 200, reason: null, nodeCount: 2, nodes };
  assert.deepEqual(items[0], { ...gpu, runtimeClass: 'created', failures: [], warnings: [] });
  assert.deepEqual([items[1]?.pool, items[1]?.status, typeof items[1]?.reason], ['late', 409, 'string']);
  const quiet = await cliHere(cluster(), ['reconcile', '-q']);
  assert.deepEqual([quiet.code, quiet.stdout], [3, '']);
  assert.match(quiet.stderr, /^late +Conflict/m, 'why it is 3');
  await refused(['reconcile', '-q', '-o', 'json'], 2, /--quiet/);
  const next = 'next: with --watch, use --log-format json';
  await refused(
    ['reconcile', '-w', '-o', 'json'],
    2,
    new RegExp(`^error: -o and --watch cannot be used together; ${next}\n`),
  );
});

test('diff -o json prints the differences, with the same exit code', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu', { labels: { tier: 'gold' }, handler: 'runc' });
  const { code, stdout } = await unchanged(['diff', '-o', 'json']);
  const { nodes, runtimeClasses } = JSON.parse(stdout) as { nodes: object[]; runtimeClasses: object[] };
  const changes = [{ kind: 'label', key: 'tier', action: 'add', to: 'gold', reason: 'spec' }];
  assert.deepEqual([code, nodes], [1, [{ name: 'a', from: null, to: 'gpu', changes }]]);
  assert.deepEqual(runtimeClasses, [{ name: 'node-pool-gpu', action: 'create' }]);
  await testEnv.reconcile();
  assert.deepEqual((JSON.parse(await ok(['diff', '-o', 'json'])) as { nodes: object[] }).nodes, []);
});

test('reconcile refuses flags of the controller without --watch', async () => {
  for (const [flag, ...value] of [['--leader-elect'], ['--resync', '5m'], ['--log-format', 'text']] as const) {
    const text = `error: ${flag} needs --watch; next: add --watch, or leave out the flag`;
    await refused(['reconcile', flag, ...value], 2, `${text}\nSee 'kubectl nodepool reconcile --help'.`);
  }
});

test('reconcile --dry-run prints changes and results as a run does, and writes nothing', async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu', { taints: [{ key: 'x', value: 'y', effect: 'NoExecute' }], handler: 'nvidia' });
  const changes = await cliHere(cluster(), ['diff']);
  assert.match(changes.stdout, /^node a \(joins pool gpu\)\n/);
  const line = 'gpu  Ready  1 node (1 joined, RuntimeClass created)  cpu 4  memory 2.9Gi';
  for (const [flag, suffix] of [
    ['--dry-run', 'dry run'],
    ['--dry-run=client', 'dry run'],
    ['--dry-run=server', 'server dry run'],
  ] as const) {
    const stdout = `${changes.stdout}\n${line}  (${suffix})\n`;
    assert.deepEqual(await unchanged(['reconcile', flag]), { code: 0, stdout, stderr: '' });
    assert.deepEqual((await unchanged(['reconcile', flag, '--quiet'])).stdout, '');
  }
  await refused(['reconcile', '-l', 'team=x', '--dry-run'], 0, 'No pools found.');
  assert.deepEqual([taintsOf(await testEnv.node('a')), await testEnv.events('gpu')], [[], []]);
});

test('reconcile exits with 3 and the reason when the status of a pool is not 200', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('gpu'), ...role('late') } });
  await testEnv.pool('gpu');
  await testEnv.pool('late', { labels: { q: 'r' } }, { younger: true });
  const { code, stdout } = await cliHere(cluster(), ['reconcile']);
  assert.equal(code, 3);
  assert.equal(
    stdout,
    `gpu   Ready     1 node (1 joined)    cpu 4  memory 2.9Gi
late  Conflict  0 nodes (unchanged)  cpu 0  memory 0      node a belongs to pool gpu but also matches pool late; not applied there: q
`,
  );
});

test('a terminal without a width gets lines only, other terminals also a spinner', {
  skip: NO_TERMINAL ?? false,
}, async () => {
  await testEnv.nodes({ name: 'a', labels: role('gpu') });
  await testEnv.pool('gpu');
  const line = 'gpu  Ready  1 node (1 joined)  cpu 4  memory 2.9Gi\n';
  assert.deepEqual(await inTerminal(cluster(), ['reconcile'], '', 0), { code: 0, shown: line });
  const wide = await inTerminal(cluster(), ['reconcile'], '');
  assert.equal(wide.code, 0);
  assert.match(wide.shown, /Reconciling/);
  assert.match(wide.shown, /gpu {2}Ready {2}1 node \(unchanged\) {2}cpu 4 {2}memory 2\.9Gi\n/);
});
