import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { useTestEnv } from './test-env.ts';

const EDITED = 'nodepool.nodes.lailin.xyz/gpu edited\n';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

test('each flag sets or removes its field and keeps the others', async () => {
  await testEnv.pool('gpu', {
    labels: { keep: '1', change: 'old', drop: 'x' },
    taints: [
      { key: 'keep', effect: 'NoSchedule' },
      { key: 'change', value: 'old', effect: 'NoSchedule' },
      { key: 'drop', value: 'x', effect: 'NoExecute' },
    ],
    handler: 'runc',
    nodeSelector: { a: 'b' },
  });
  const labels = ['--label', 'change=new', '--label', 'drop-', '--label', 'add='];
  const taints = ['--taint', 'change=new:NoSchedule', '--taint', 'drop:NoExecute-', '--taint', 'add:PreferNoSchedule'];
  const others = ['--handler', '', '--node-selector', 'a-', '--node-selector', 'c=d', '--unmanaged', 'Remove'];
  const { code, stdout, stderr } = await kubectl(cluster(), [
    'nodepool',
    'edit',
    'gpu',
    ...labels,
    ...taints,
    ...others,
  ]);
  assert.deepEqual([code, stdout], [0, EDITED]);
  assert.match(
    stderr,
    /^warning: pool gpu has unmanaged: Remove: .* CNI and GPU software.*\nwarning: pool gpu selects by c; kubelets can change .*\n$/,
  );
  assert.deepEqual((await testEnv.getPool('gpu'))?.spec, {
    labels: { keep: '1', change: 'new', add: '' },
    taints: [
      { key: 'keep', effect: 'NoSchedule' },
      { key: 'change', value: 'new', effect: 'NoSchedule' },
      { key: 'add', effect: 'PreferNoSchedule' },
    ],
    nodeSelector: { c: 'd' },
    unmanaged: 'Remove',
  });
});

test('writes nothing without a change, and warns when a removed key does not exist', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const { code, stdout, stderr } = await unchanged([
    'edit',
    'gpu',
    '--label',
    'tier=gold',
    '--label',
    'no-',
    '--taint',
    'x:NoExecute-',
  ]);
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 0,
      stdout: 'nodepool.nodes.lailin.xyz/gpu not changed\n',
      stderr: 'warning: pool gpu has no label no\nwarning: pool gpu has no taint x:NoExecute\n',
    },
  );
});

test('dry runs write nothing; -o prints the pool', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  const edit = ['edit', 'gpu', '--label', 'tier=silver'];
  assert.equal((await unchanged([...edit, '--dry-run'])).stdout, 'nodepool.nodes.lailin.xyz/gpu edited (dry run)\n');
  const server = await unchanged([...edit, '--dry-run=server', '-o', 'yaml']);
  assert.match(server.stdout, /^ {4}tier: silver$/m);
  for (const words of [['--dry-run'], ['--dry-run=server'], []]) {
    assert.equal(await ok([...edit, '-o', 'name', ...words]), 'nodepool.nodes.lailin.xyz/gpu\n');
  }
  assert.equal(JSON.parse(await ok([...edit, '-o', 'json'])).spec.labels.tier, 'silver');
  const needsFlags = "error: --dry-run needs flags that edit fields\nSee 'kubectl nodepool edit --help'.";
  await refused(['edit', 'gpu', '--dry-run'], 2, needsFlags);
});

test('refuses an invalid result before sending it', async () => {
  await testEnv.pool('gpu');
  await refused(
    ['edit', 'gpu', '--label', 'node-role.kubernetes.io/gpu=x'],
    1,
    /^error: pool gpu: spec\.labels\[node-role\.kubernetes\.io\/gpu\]: this label decides which nodes belong/,
  );
  await refused(['edit', 'gpu', '--taint', 'x'], 2, /^error: --taint "x": /);
  await refused(
    ['edit', 'nope', '--handler', 'x'],
    1,
    'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`',
  );
});

test('keeps all concurrent edits', async () => {
  await testEnv.pool('gpu');
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  const results = await Promise.all(keys.map(key => cliHere(cluster(), ['edit', 'gpu', '--label', `${key}=1`])));
  assert.deepEqual(
    results,
    keys.map(() => ({ code: 0, stdout: EDITED, stderr: '' })),
  );
  assert.deepEqual(Object.keys((await testEnv.getPool('gpu'))?.spec.labels ?? {}).toSorted(), keys);
});

test('warns that an edit of a terminating pool changes no node, and skips --reconcile', async () => {
  await testEnv.pool('gpu');
  await testEnv.edit('gpu', { metadata: { finalizers: ['example.com/backup'] } });
  await cliHere(cluster(), ['delete', 'gpu']);
  for (const more of [[], ['--reconcile']]) {
    const edit = ['edit', 'gpu', '--label', `tier=${more.length}`, ...more];
    const { code, stdout, stderr } = await cliHere(cluster(), edit);
    assert.deepEqual([code, stdout], [1, EDITED]);
    assert.match(stderr, /^warning: pool gpu is being deleted since \S+Z: its nodes are released, .*\n$/);
  }
});

test('adds an expression to the default selector, and asks before the pool matches every node', async () => {
  const role = 'node-role.kubernetes.io/gpu';
  await testEnv.nodes({ name: 'a', labels: { [role]: '' } }, { name: 'b' });
  await testEnv.pool('gpu', {});
  const added = await cliHere(cluster(), ['edit', 'gpu', '--node-selector', 'spot!=yes', '--reconcile']);
  assert.equal(added.code, 0, added.stderr);
  assert.equal(
    added.stderr.split('\n')[0],
    `note: pool gpu still requires ${role}, its default selector, now in spec.nodeSelector; to remove this label from the selector, add --node-selector ${role}-`,
  );
  const expression = { key: 'spot', operator: 'NotIn', values: ['yes'] };
  assert.deepEqual((await testEnv.getPool('gpu'))?.spec, {
    nodeSelector: { [role]: '' },
    matchExpressions: [expression],
  });
  assert.equal((await testEnv.getPool('gpu'))?.status?.nodeCount, 1);
  await refused(
    ['edit', 'gpu', '--node-selector', `${role}-`],
    1,
    /pool gpu would require no label: new nodes join automatically; nothing was changed; next: .*--yes$/,
  );
  const opened = await cliHere(cluster(), ['edit', 'gpu', '--node-selector', `${role}-`, '--yes']);
  assert.equal(opened.code, 0, opened.stderr);
  assert.deepEqual((await testEnv.getPool('gpu'))?.spec, { matchExpressions: [expression] });
});

test('create and edit set the rollout and pause', async () => {
  const rollout = ['--max-concurrent', '25%', '--canary', '1', '--settle', '90s'];
  await ok(['create', 'gpu', ...rollout, '--paused', '-o', 'name']);
  assert.deepEqual((await testEnv.getPool('gpu'))?.spec, {
    rollout: { maxConcurrent: '25%', canary: 1, settleSeconds: 90 },
    paused: true,
  });
  assert.equal(
    await ok(['edit', 'gpu', '--canary=10%', '--no-paused', '-o', 'name']),
    'nodepool.nodes.lailin.xyz/gpu\n',
  );
  assert.deepEqual((await testEnv.getPool('gpu'))?.spec, {
    rollout: { maxConcurrent: '25%', canary: '10%', settleSeconds: 90 },
  });
  await ok(['edit', 'gpu', '--paused', '--dry-run=server', '-o', 'name']);
  await ok(['edit', 'gpu', '--paused=false', '-o', 'name']);
  assert.equal((await testEnv.getPool('gpu'))?.spec.paused, undefined);
  await refused(
    ['edit', 'gpu', '--max-concurrent=0'],
    2,
    /^error: --max-concurrent: 0 must be a number from 1 to .*; next: write it like 2 or 25%/,
  );
  await refused(['create', 'new', '--settle=2d'], 2, /^error: --settle: "2d" is not a duration; next: /);
});
