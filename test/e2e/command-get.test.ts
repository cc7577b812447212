import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli, kubectl } from '../cluster/harness.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused } = commandsOf(cluster);

/** Two pools: `gpu` reconciled with the two nodes of the sample, `new` never. */
async function pools(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu'), unschedulable: true });
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

const ages = (text: string) => text.replace(/\b\d+s\b/g, '9s');

test('lays out columns as kubectl does', async () => {
  await pools();
  const header = 'NAME   STATUS   NODES    READY    CPU      MEMORY   PODS     TAINTS                     AGE\n';
  const rows = `gpu    200      2        2        8        5.8Gi    220      dedicated=gpu:NoSchedule   9s
new    <none>   <none>   <none>   <none>   <none>   <none>   <none>                     9s
`;
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'get']);
  assert.deepEqual({ code, stderr, stdout: ages(stdout) }, { code: 0, stderr: '', stdout: header + rows });
  // kubectl too makes columns no wider than their content.
  assert.equal(ages(await ok(['get', '--no-headers'])), rows.replaceAll(/^(\S+) {4}/gm, '$1   '));
  const wide = (await ok(['get', 'gpu', '-o', 'wide']))
    .trimEnd()
    .split('\n')
    .map(line => ages(line).split(/ {3,}/));
  assert.deepEqual(wide, [
    [
      'NAME',
      'STATUS',
      'NODES',
      'READY',
      'CPU',
      'MEMORY',
      'PODS',
      'TAINTS',
      'AGE',
      'HANDLER',
      'UNSCHEDULABLE',
      'STORAGE',
      'SELECTOR',
      'REASON',
      'DRIFT',
    ],
    [
      'gpu',
      '200',
      '2',
      '2',
      '8',
      '5.8Gi',
      '220',
      'dedicated=gpu:NoSchedule',
      '9s',
      'nvidia',
      '1',
      '175.5Gi',
      'node-role.kubernetes.io/gpu=',
      '<none>',
      '0',
    ],
  ]);
});

test('-o wide counts the nodes that differ now; who may not list nodes gets the count of the status', async () => {
  await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('gpu') })), { name: 'c' });
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.pool('new', { labels: { tier: 'x' } });
  const drift = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(cluster(), ['get', '--no-headers', '-o', 'wide', ...args]);
    assert.equal(code, 0, stderr);
    const cells = stdout.trimEnd().split('\n');
    return [cells.map(line => line.split(/ +/).at(-1)).join(' '), stderr] as const;
  };
  assert.deepEqual(await drift(), ['0 0', '']);
  assert.equal((await kubectl(cluster(), ['label', 'node', 'a', 'tier=mine', '--overwrite'])).code, 0);
  assert.deepEqual(await drift(), ['1 0', '']);
  assert.deepEqual(await drift('gpu'), ['1', '']);
  const reader = await userWith(cluster(), 'pool-reader', [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list'] },
  ]);
  const [counts, warning] = await drift('--kubeconfig', reader);
  assert.equal(counts, '0 <none>');
  assert.match(
    warning,
    /^warning: DRIFT is as of the last reconcile: cannot list nodes: user "pool-reader" lacks the permission; next: .*\n$/,
  );
  assert.equal((await cli(cluster(), ['add', 'gpu', 'c'])).code, 0);
  assert.equal((await drift('--kubeconfig', reader))[0], '1 <none>');
});

test('prints each row on one line, however narrow the terminal', { skip: NO_TERMINAL ?? false }, async () => {
  const taints = [
    { key: `dedicated.example.com/${'x'.repeat(60)}`, value: 'y'.repeat(63), effect: 'NoSchedule' as const },
  ];
  await testEnv.pool('gpu', { taints });
  await testEnv.pool('other', { taints });
  for (const args of [['get'], ['get', '-o', 'wide']]) {
    const { code, shown } = await inTerminal(cluster(), args, '', 80);
    assert.equal(code, 0);
    assert.deepEqual(ages(shown), ages(await ok(args)));
    const firsts = shown.split('\n').map(line => line.split(' ', 1)[0]);
    assert.deepEqual(firsts, ['NAME', 'gpu', 'other', '']);
  }
});

test('-o json, yaml and name print byte for byte what kubectl prints', async () => {
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

test('shows the pools that exist, reports the missing one and exits with 1', async () => {
  await testEnv.pool('gpu');
  const missing = (name: string) =>
    `error: nodepool "${name}" not found; next: list the pools with \`kubectl nodepool get\``;
  const { code, stdout, stderr } = await cli(cluster(), ['get', 'nope', 'gpu', 'nada', '--no-headers']);
  assert.match(stdout, /^gpu .*\n$/);
  assert.deepEqual({ code, stderr }, { code: 1, stderr: `${missing('nope')}\n${missing('nada')}\n` });
  await refused(['get', 'nope', '-o', 'yaml'], 1, missing('nope'));
});

test('-l selects pools; no match is no error', async () => {
  await pools();
  assert.equal(await ok(['get', '-l', 'team!=a,team', '-o', 'name']), 'nodepool.nodes.lailin.xyz/new\n');
  await refused(['get', '-l', 'team=c'], 0, 'No pools found.');
  await refused(['get', '-l', 'a=b=c'], 2, /^error: -l "a=b=c": .*; next: write it like a=b,c!=d,e\nSee /);
  await refused(['get', 'gpu', '-l', 'a=b'], 2, /^error: names and -l exclude each other; next: give one of the two\n/);
});
