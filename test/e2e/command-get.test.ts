import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubeconfigFor } from '../cluster/credentials.ts';
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
const ROWS_ALONE = `gpu   200       2     2        1        8        5.8Gi    220      dedicated=gpu:NoSchedule   9s
new   Pending   1     <none>   <none>   <none>   <none>   <none>   <none>                     9s
`;

const ages = (text: string) => text.replace(/\b\d+s\b/g, '9s');

test('lays out columns as kubectl does', async () => {
  await pools();
  const header =
    'NAME   STATUS    NODES   READY    CORDONED   CPU      MEMORY   PODS     TAINTS                     AGE\n';
  const rows = `gpu    200       2       2        1          8        5.8Gi    220      dedicated=gpu:NoSchedule   9s
new    Pending   1       <none>   <none>     <none>   <none>   <none>   <none>                     9s
`;
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'get']);
  assert.deepEqual({ code, stderr, stdout: ages(stdout) }, { code: 0, stderr: '', stdout: header + rows });
  // kubectl too makes columns no wider than their content.
  assert.equal(ages(await ok(['get', '--no-headers'])), ROWS_ALONE);
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
      'CORDONED',
      'CPU',
      'MEMORY',
      'PODS',
      'TAINTS',
      'AGE',
      'HANDLER',
      'STORAGE',
      'SELECTOR',
      'REASON',
      'DRIFT',
      'MAINTENANCE',
    ],
    [
      'gpu',
      '200',
      '2',
      '2',
      '1',
      '8',
      '5.8Gi',
      '220',
      'dedicated=gpu:NoSchedule',
      '9s',
      'nvidia',
      '175.5Gi',
      'node-role.kubernetes.io/gpu=',
      '<none>',
      '0',
      '0',
    ],
  ]);
});

test('reads nodes only for pools without a status, and shows Pending where that is forbidden', async () => {
  await pools();
  const nodes = /\/api\/v1\/nodes\?/;
  for (const args of [
    ['get', 'gpu'],
    ['get', '-o', 'name'],
    ['get', 'new', '-o', 'json'],
  ]) {
    assert.doesNotMatch((await cli(cluster(), [...args, '-v', '6'])).stderr, nodes, args.join(' '));
  }
  assert.match((await cli(cluster(), ['get', 'new', '-v', '6'])).stderr, nodes);
  const env = { KUBECONFIG: await kubeconfigFor(cluster(), 'reader') };
  await allowPools('reader');
  const { code, stdout, stderr } = await cli(cluster(), ['get', 'new', '--no-headers'], { env });
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^new +Pending +<none> +<none> /);
});

test('fits a terminal of 80 columns; -o wide does not', { skip: NO_TERMINAL ?? false }, async () => {
  await pools();
  const { shown } = await inTerminal(cluster(), ['get'], '', 80);
  const lines = shown.trimEnd().split('\n');
  assert.ok(
    lines.every(line => line.trimEnd().length <= 80),
    shown,
  );
  assert.match(shown, /^NAME +STATUS +NODES +READY +CORDONED +CPU +MEMORY /);
  assert.match((await inTerminal(cluster(), ['get', '-o', 'wide'], '', 80)).shown, /dedicated=gpu:NoSchedule/);
});

/** Gives a user the permission to read pools, and nothing else. */
async function allowPools(user: string): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list'] }];
  await raw(cluster()).expect('POST', `${rbac}/clusterroles`, { metadata: { name: user }, rules });
  await raw(cluster()).expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
  });
}

test('-o wide counts the nodes that differ now; who may not list nodes gets the count of the status', async () => {
  await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('gpu') })), { name: 'c' });
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.pool('new', { labels: { tier: 'x' } });
  const drift = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(cluster(), ['get', '--no-headers', '-o', 'wide', ...args]);
    assert.equal(code, 0, stderr);
    const cells = stdout.trimEnd().split('\n');
    return [cells.map(line => line.split(/ +/).at(-2)).join(' '), stderr] as const;
  };
  assert.deepEqual(await drift(), ['0 <none>', '']);
  assert.equal((await kubectl(cluster(), ['label', 'node', 'a', 'tier=mine', '--overwrite'])).code, 0);
  assert.deepEqual(await drift(), ['1 <none>', '']);
  assert.deepEqual(await drift('gpu'), ['1', '']);
  // So are the other counts of nodes.
  assert.equal((await kubectl(cluster(), ['cordon', 'b'])).code, 0);
  assert.match(await ok(['get', 'gpu', '-o', 'wide', '--no-headers']), /^gpu +200 +2 +2 +1 /);
  assert.match(await ok(['get', 'gpu', '--no-headers']), /^gpu +200 +2 +2 +0 /);
  assert.equal((await kubectl(cluster(), ['uncordon', 'b'])).code, 0);
  // And the resources.
  await testEnv.nodes({ name: 'd', labels: role('gpu') });
  assert.match(await ok(['get', 'gpu', '-o', 'wide', '--no-headers']), /^gpu +200 +3 +3 +0 +12 /);
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/d');
  const reader = await userWith(cluster(), 'pool-reader', [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['get', 'list'] },
  ]);
  const [counts, warning] = await drift('--kubeconfig', reader);
  assert.equal(counts, '0 <none>');
  assert.match(
    warning,
    /^warning: the numbers of nodes and resources are as of the last reconcile: cannot list nodes: user "pool-reader" lacks the permission; next: .*\n$/,
  );
  assert.equal((await cli(cluster(), ['add', 'gpu', 'c'])).code, 0);
  assert.equal((await drift('--kubeconfig', reader))[0], '1 <none>');

  // Once, whatever the status knows: it does not know of a maintenance.
  const nodes = /\/api\/v1\/nodes\?/g;
  const [known, requests] = await drift('gpu', '-v', '6');
  assert.equal(known, '1');
  assert.equal(requests.match(nodes)?.length, 1);
  assert.equal((await kubectl(cluster(), ['label', 'node', 'a', 'b', 'tier=other', '--overwrite'])).code, 0);
  assert.equal((await cli(cluster(), ['edit', 'gpu', '--label', 'tier=silver'])).code, 0);
  const [current, again] = await drift('gpu', '-v', '6');
  assert.equal(current, '3');
  assert.match(again, nodes);
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
    if (args.length > 1) assert.deepEqual(ages(shown), ages(await ok(args)));
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

test('-l selects pools; no match is not an error', async () => {
  await pools();
  assert.equal(await ok(['get', '-l', 'team!=a,team', '-o', 'name']), 'nodepool.nodes.lailin.xyz/new\n');
  await refused(['get', '-l', 'team=c'], 0, 'No pools found.');
  await refused(['get', '-l', 'a=b=c'], 2, /^error: -l "a=b=c": .*; next: write it like a=b,c!=d,e\nSee /);
  await refused(['get', 'gpu', '-l', 'a=b'], 2, /^error: names and -l exclude each other; next: give one of the two\n/);
});
