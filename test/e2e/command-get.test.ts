import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused } = commandsOf(cluster);

/** Two pools: `gpu` reconciled with the two nodes of the sample, `new`, which one node matches, never. */
async function pools(): Promise<void> {
  await testEnv.nodes(
    { name: 'a', labels: role('gpu') },
    { name: 'b', labels: role('gpu'), unschedulable: true },
    { name: 'c', labels: role('new') },
  );
  await testEnv.pool(
    'gpu',
    {
      labels: { tier: 'gold' },
      taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
      handler: 'nvidia',
    },
    { metadata: { labels: { team: 'a' }, annotations: { note: 'x < y & "z"\ttab: #1\n', number: '1', yes: 'yes' } } },
  );
  await testEnv.pool('new', {}, { metadata: { labels: { team: 'b' } } });
  await testEnv.reconcile('gpu');
}

/** Without headers columns are no wider than their cells. */
const ROWS_ALONE = `gpu   Ready     2     2     1     0     0     8     5.8Gi   220   dedicated=gpu:NoSchedule   9s
new   Pending   1     1     0     0     0     4     2.9Gi   110   <none>                     9s
`;

const ages = (text: string) => text.replace(/\b\d+s\b/g, '9s');

test('lays out columns as kubectl does', async () => {
  await pools();
  const header =
    'NAME   STATUS    NODES   READY   CORDONED   DUE   DRIFT   CPU   MEMORY   PODS   TAINTS                     AGE\n';
  const rows = `gpu    Ready     2       2       1          0     0       8     5.8Gi    220    dedicated=gpu:NoSchedule   9s
new    Pending   1       1       0          0     0       4     2.9Gi    110    <none>                     9s
`;
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'get']);
  assert.deepEqual({ code, stderr, stdout: ages(stdout) }, { code: 0, stderr: '', stdout: header + rows });
  // kubectl too makes columns no wider than their content.
  assert.equal(ages(await ok(['get', '--no-headers'])), ROWS_ALONE);
  const kinds = await kubectl(cluster(), ['get', 'nodepools', '--show-kind', '--no-headers']);
  const names = (table: string) =>
    table
      .trimEnd()
      .split('\n')
      .map(line => line.split(' ', 1)[0]);
  assert.deepEqual(names(await ok(['get', '--show-kind', '--no-headers'])), names(kinds.stdout));
  assert.match(await ok(['get', 'gpu', '--show-kind']), /^NAME .*\nnodepool\.nodes\.lailin\.xyz\/gpu /);
  const wide = (await ok(['get', 'gpu', '-o', 'wide'])).trimEnd().split('\n');
  const [headers = [], cells = []] = wide.map(line => ages(line).split(/ {3,}/));
  assert.equal(headers.slice(12).join(' '), 'CODE HANDLER STORAGE SELECTOR REASON MAINTENANCE');
  assert.deepEqual(cells.slice(11), [
    ...['9s', '200', 'nvidia', '175.5Gi', 'node-role.kubernetes.io/gpu=', '<none>', '0'],
  ]);
});

test('the table counts current nodes that are NotReady, cordoned or drifted', async () => {
  await testEnv.nodes(...['a', 'b', 'c', 'd'].map(name => ({ name, labels: role('gpu') })));
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.pool('empty');
  await testEnv.reconcile();
  const row = async (...args: string[]) => (await ok(['get', 'gpu', '--no-headers', ...args])).split(/ +/).slice(1, 7);
  assert.deepEqual(await row(), ['Ready', '4', '4', '0', '0', '0']);
  assert.match(await ok(['get', 'empty', '--no-headers']), /^empty +Empty +0 +0 +0 +0 +0 /);
  const notReady = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
  const type = 'application/strategic-merge-patch+json';
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/b/status', notReady, type);
  assert.equal((await kubectl(cluster(), ['cordon', 'c'])).code, 0);
  assert.deepEqual(await row(), ['Ready', '4', '3', '1', '0', '0']);
  assert.equal((await kubectl(cluster(), ['label', 'node', 'a', 'tier=mine', '--overwrite'])).code, 0);
  assert.deepEqual(await row(), ['Drifted', '4', '3', '1', '1', '1']);
  // The status does not know it, and other formats show the status.
  assert.deepEqual(await row('--cached'), ['Ready', '4', '4', '0', '0', '<unknown>']);
  assert.equal(await ok(['get', 'gpu', '-o', 'jsonpath={.status.readyNodeCount}']), '4');
  assert.match((await kubectl(cluster(), ['get', 'nodepools', 'gpu'])).stdout, /^gpu +200 +4 +4 /m);
  // An edit is due, not drift.
  await ok(['edit', 'empty', '--label', 'x=y']);
  assert.equal((await cli(cluster(), ['edit', 'gpu', '--label', 'team=a'])).code, 0);
  assert.deepEqual(await row(), ['Drifted', '4', '3', '1', '4', '1']);
  assert.match(await ok(['get', 'empty', '--no-headers']), /^empty +Empty /);
  await testEnv.reconcile();
  assert.deepEqual(await row(), ['Ready', '4', '3', '1', '0', '0']);
  await ok(['rollout', 'pause', 'gpu']);
  assert.deepEqual((await row())[0], 'Paused');
  assert.deepEqual((await row('--cached'))[0], 'Paused');
  await ok(['rollout', 'resume', 'gpu']);
  assert.deepEqual((await row())[0], 'Ready', 'nothing is left to do');
});

test('reads nodes once, in parallel with pools, and only for the table', async () => {
  await pools();
  const nodes = /\/api\/v1\/nodes\?/g;
  for (const args of [
    ['get', '--cached'],
    ['get', '-o', 'name'],
    ['get', 'new', '-o', 'json'],
  ]) {
    assert.doesNotMatch((await cli(cluster(), [...args, '-v', '6'])).stderr, nodes, args.join(' '));
  }
  for (const args of [['get'], ['get', 'gpu'], ['get', '-o', 'wide']]) {
    assert.equal((await cli(cluster(), [...args, '-v', '6'])).stderr.match(nodes)?.length, 1, args.join(' '));
  }
});

test('fits a terminal of 80 columns, except with -o wide', { skip: NO_TERMINAL ?? false }, async () => {
  await pools();
  const { shown } = await inTerminal(cluster(), ['get'], '', 80);
  const lines = shown.trimEnd().split('\n');
  assert.ok(
    lines.every(line => line.trimEnd().length <= 80),
    shown,
  );
  assert.match(shown, /^NAME +STATUS +NODES +READY +CORDONED +CPU +MEMORY /);
  assert.doesNotMatch(shown, /DUE|DRIFT/);
  assert.match((await inTerminal(cluster(), ['get', '-o', 'wide'], '', 80)).shown, /dedicated=gpu:NoSchedule/);
});

test('shows the last status with its age and a note to users who may not list nodes', async () => {
  await pools();
  const reader = await userWith(cluster(), 'pool-reader', [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list'] },
  ]);
  assert.equal((await kubectl(cluster(), ['uncordon', 'b'])).code, 0);
  const { code, stdout, stderr } = await cli(cluster(), ['get', '--no-headers', '--kubeconfig', reader]);
  assert.equal(code, 0);
  assert.match(stdout, /^gpu +Ready +2 +2 +1 +0 +<unknown> +8 .*\nnew +Pending +<none> /);
  assert.match(
    stderr,
    /^warning: STATUS and the node counts are from the last reconcile, \d+s ago: user "pool-reader" may not list nodes; next: .*\n$/,
  );
  const cached = await cli(cluster(), ['get', '--cached', '--no-headers', '--kubeconfig', reader]);
  assert.deepEqual([cached.code, cached.stderr, ages(cached.stdout)], [0, '', ages(stdout)]);
});

test('prints each row on one line on any terminal width', { skip: NO_TERMINAL ?? false }, async () => {
  const taints = [
    { key: `dedicated.example.com/${'x'.repeat(60)}`, value: 'y'.repeat(63), effect: 'NoSchedule' as const },
  ];
  await testEnv.pool('gpu', { taints });
  await testEnv.pool('other', { taints });
  for (const args of [['get'], ['get', '-o', 'wide']]) {
    const { code, shown } = await inTerminal(cluster(), args, '', 80);
    assert.equal(code, 0);
    // The column is wider from an age of 10s on.
    const columns = (text: string) => ages(text).replace(/ +/g, ' ');
    if (args.length > 1) assert.deepEqual(columns(shown), columns(await ok(args)));
    const firsts = shown.split('\n').map(line => line.split(' ', 1)[0]);
    assert.deepEqual(firsts, ['NAME', 'gpu', 'other', '']);
  }
});

test('-o json, yaml and name print the same bytes as kubectl', async () => {
  await pools();
  const shapes = [[], ['gpu'], ['gpu', 'new'], ['-l', 'team=b'], ['-l', 'team=none'], ['new', 'missing']];
  for (const format of ['json', 'yaml', 'name']) {
    for (const shape of format === 'name' ? shapes.slice(0, 5) : shapes) {
      const theirs = await kubectl(cluster(), ['get', 'nodepools', ...shape, '-o', format]);
      const ours = await cli(cluster(), ['get', ...shape, '-o', format]);
      assert.deepEqual([ours.code, ours.stdout], [theirs.code, theirs.stdout], `${shape.join(' ')} -o ${format}`);
    }
  }
});

test('shows existing pools, reports the missing one and exits with 1', async () => {
  await testEnv.pool('gpu');
  const missing = (name: string) =>
    `error: nodepool "${name}" not found; next: list the pools with \`kubectl nodepool get\``;
  const { code, stdout, stderr } = await cli(cluster(), ['get', 'nope', 'gpu', 'nada', '--no-headers']);
  assert.match(stdout, /^gpu .*\n$/);
  assert.deepEqual({ code, stderr }, { code: 1, stderr: `${missing('nope')}\n${missing('nada')}\n` });
  await refused(['get', 'nope', '-o', 'yaml'], 1, missing('nope'));
});

test('-l selects pools, and accepts no match', async () => {
  await pools();
  assert.equal(await ok(['get', '-l', 'team!=a,team', '-o', 'name']), 'nodepool.nodes.lailin.xyz/new\n');
  await refused(['get', '-l', 'team=c'], 0, 'No pools found.');
  await refused(['get', '-l', 'a=b=c'], 2, /^error: -l "a=b=c": .*; next: write it like a=b,c!=d,e\nSee /);
  await refused(
    ['get', 'gpu', '-l', 'a=b'],
    2,
    /^error: names and -l cannot be used together; next: use one of the two\n/,
  );
});
