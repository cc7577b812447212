import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf, poolYaml } from './commands.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

const created = (...names: string[]) => names.map(name => `nodepool.nodes.lailin.xyz/${name} created\n`).join('');
const specOf = async (name: string) => (await testEnv.getPool(name))?.spec;

test('sets every field by flags, labels the members and reconciles them', async () => {
  await testEnv.nodes({ name: 'a' }, { name: 'b' }, { name: 'c' });
  const flags = [
    '--label',
    'tier=gold',
    '--label',
    'empty=',
    '--taint',
    'dedicated=w:NoSchedule',
    '--taint',
    'x:NoExecute',
  ];
  const more = ['--handler', 'runc', '--unmanaged', 'Keep', '--nodes', 'a', '--nodes', 'b', '--reconcile'];
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'create', 'worker', ...flags, ...more]);
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 0,
      stdout: `${created('worker')}worker  Ready  2 nodes (2 joined, RuntimeClass created)  cpu 8  memory 5.8Gi\n`,
      stderr: '',
    },
  );
  assert.deepEqual(await specOf('worker'), {
    labels: { tier: 'gold', empty: '' },
    taints: [
      { key: 'dedicated', value: 'w', effect: 'NoSchedule' },
      { key: 'x', effect: 'NoExecute' },
    ],
    handler: 'runc',
    unmanaged: 'Keep',
  });
  const [a, c] = [await testEnv.node('a'), await testEnv.node('c')];
  assert.equal(a.metadata.labels.tier, 'gold');
  assert.equal(a.metadata.labels['node-role.kubernetes.io/worker'], '');
  assert.deepEqual(taintsOf(a), ['dedicated=w:NoSchedule', 'x:NoExecute']);
  assert.deepEqual(['tier' in c.metadata.labels, taintsOf(c)], [false, []]);
});

test('--nodes sets the labels of the selector on existing nodes without a pool', async () => {
  await testEnv.nodes({ name: 'a' }, { name: 'held', labels: role('worker') });
  await testEnv.pool('worker');
  await refused(
    ['create', 'gpu', '--nodes', 'a,held'],
    1,
    'error: --nodes: node held belongs to pool worker; next: first remove the node from that pool: `kubectl nodepool remove worker held`',
  );
  await refused(
    ['create', 'gpu', '--nodes', 'nope,a,nada'],
    1,
    'error: --nodes: nodes "nope", "nada" not found; next: list the nodes with `kubectl get nodes`',
  );
  assert.equal(await ok(['create', 'gpu', '--node-selector', 'accel=nv', '--nodes', 'a']), created('gpu'));
  assert.equal((await testEnv.node('a')).metadata.labels.accel, 'nv');
});

test('dry runs print the pool and write nothing', async () => {
  await testEnv.nodes({ name: 'a' });
  const flags = ['create', 'gpu', '--label', 'tier=gold', '--nodes', 'a', '--reconcile'];
  const nowhere = { env: { KUBECONFIG: '/nowhere' } };
  const unseen = 'note: --dry-run=client does not ask the cluster; --dry-run=server also checks pools and nodes\n';
  const client = await unchanged([...flags, '--dry-run'], nowhere);
  assert.deepEqual(client, { code: 0, stdout: 'nodepool.nodes.lailin.xyz/gpu created (dry run)\n', stderr: unseen });
  for (const dryRun of ['--dry-run', '--dry-run=server']) {
    assert.equal((await unchanged([...flags, dryRun, '-o', 'name'])).stdout, 'nodepool.nodes.lailin.xyz/gpu\n');
  }
  const server = await unchanged([...flags, '--dry-run=server', '-o', 'json']);
  assert.match(JSON.parse(server.stdout).metadata.uid, /^[0-9a-f-]{36}$/);

  // What the client dry run prints can be created, here by kubectl.
  const { stdout } = await cliHere(
    cluster(),
    ['create', 'gpu', '--taint', 'a=b:NoExecute', '--dry-run', '-o', 'yaml'],
    nowhere,
  );
  assert.equal(stdout, poolYaml('gpu', '\n  taints:\n  - effect: NoExecute\n    key: a\n    value: b'));
  const made = await kubectl(cluster(), ['create', '-f', '-'], { stdin: stdout });
  assert.deepEqual([made.code, made.stdout], [0, created('gpu')]);
});

test('-f reads files, directories, URLs and stdin with YAML, JSON, several documents and lists', async () => {
  const json = JSON.stringify({ apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'json' } });
  const file = join(cluster().dir, 'pools.yaml');
  await writeFile(file, `# two\n${poolYaml('one')}---\n---\n${poolYaml('two', '{handler: runc}')}`);
  const server = createServer((_, response) => response.end(json)).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pool.json`;
    const list = `apiVersion: v1\nkind: List\nitems:\n- ${poolYaml('listed').trim().replaceAll('\n', '\n  ')}\n`;
    const out = await ok(['create', '-f', file, '-f', url, '-f', '-'], { stdin: list });
    assert.equal(out, created('one', 'two', 'json', 'listed'));
    assert.deepEqual(await specOf('two'), { handler: 'runc' });
  } finally {
    server.close();
  }
});

test('creates a pool from the output of get -o yaml', async () => {
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const yaml = await ok(['get', 'gpu', '-o', 'yaml']);
  await ok(['delete', 'gpu']);
  assert.equal(await ok(['create', '-f', '-'], { stdin: yaml }), created('gpu'));
  assert.deepEqual(await specOf('gpu'), { labels: { tier: 'gold' } });
});

test('an existing name does not stop the other pools', async () => {
  await testEnv.pool('taken');
  const edit = 'change the pool with `kubectl nodepool edit taken`';
  for (const more of [[], ['--nodes', 'nope']]) {
    await refused(['create', 'taken', ...more], 1, `error: pool taken already exists; next: ${edit}`);
  }
  const stdin = ['first', 'taken', 'last'].map(name => poolYaml(name)).join('---\n');
  const { code, stdout, stderr } = await cliHere(cluster(), ['create', '-f', '-'], { stdin });
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 1,
      stdout: created('first', 'last'),
      stderr: `error: pool taken already exists; next: ${edit}, or from its file with \`kubectl replace -f FILE\` (\`kubectl apply -f FILE\` would keep fields that are not in the file), then \`kubectl nodepool reconcile taken\`\n`,
    },
  );
  assert.deepEqual([await specOf('first'), await specOf('last')], [{}, {}]);
});

test('warns when a kubelet could join the pool for restricted labels, by flags and file', async () => {
  const label = 'node-restriction.kubernetes.io/x';
  const says = new RegExp(
    `^warning: pool p selects by a; kubelets can change this label on their own node and so get ${label}; next: run \`kubectl nodepool install --policies\`.*\\n$`,
  );
  const byFlags = ['create', 'p', '--node-selector', 'a=b', '--label', `${label}=y`];
  assert.match((await cliHere(cluster(), [...byFlags, '--dry-run=server'])).stderr, says);
  // A client dry run cannot know whether the policies are installed.
  assert.doesNotMatch((await cliHere(cluster(), [...byFlags, '--dry-run'])).stderr, /kubelets/);
  const spec = `\n  nodeSelector: {a: b}\n  labels: {${label}: "y"}`;
  const fromFile = await cliHere(cluster(), ['create', '-f', '-'], { stdin: poolYaml('p', spec) });
  assert.deepEqual([fromFile.code, fromFile.stdout], [0, 'nodepool.nodes.lailin.xyz/p created\n']);
  assert.match(fromFile.stderr, says);
  const meant = poolYaml('q', spec).replace(
    'name: q',
    'name: q\n  annotations: {nodes.lailin.xyz/kubelet-membership: Allow}',
  );
  assert.equal((await cliHere(cluster(), ['create', '-f', '-'], { stdin: meant })).stderr, '');
});

test('refuses unquoted booleans as kubectl does, and ignores a namespace set by kustomize', async () => {
  const stdin = poolYaml('p', '\n  labels: {spot: yes}');
  await refused(
    ['create', '-f', '-'],
    1,
    'error: stdin:6: spec.labels[spot]: expected a string, found the boolean true; next: quote it: label values are strings',
    { stdin },
  );
  const placed = poolYaml('p').replace('name: p', 'name: p\n  namespace: team-a');
  const { code, stdout, stderr } = await cliHere(cluster(), ['create', '-f', '-'], { stdin: placed });
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 0,
      stdout: created('p'),
      stderr: 'note: stdin:5: metadata.namespace "team-a" is ignored: pools are cluster-scoped\n',
    },
  );
});

test('warns about unmanaged: Remove', async () => {
  const { code, stdout, stderr } = await cliHere(cluster(), ['create', 'bare', '--unmanaged', 'Remove']);
  assert.deepEqual([code, stdout], [0, created('bare')]);
  assert.match(
    stderr,
    /^warning: pool bare has unmanaged: Remove: .*including those of cloud, CNI and GPU software; keys that contain "kubernetes" stay\n$/,
  );
});

test('--reconcile with -o prints to stdout only the reconciled pool', async () => {
  for (const args of [
    ['create', 'alone'],
    ['edit', 'alone', '--label', 'tier=gold'],
  ]) {
    const { code, stdout, stderr } = await cliHere(cluster(), [...args, '--reconcile', '-o', 'json']);
    assert.equal(code, 0, stderr);
    const { metadata, status } = JSON.parse(stdout);
    assert.deepEqual([metadata.name, status.status], ['alone', 200]);
    assert.equal(status.observedGeneration, metadata.generation);
    assert.match(stderr, /^alone +Empty /m);
  }
});

test('--reconcile exits with 3 when the status of a pool is not 200', async () => {
  await testEnv.nodes({ name: 'a', ready: false, labels: role('worker') });
  const { code, stdout } = await cliHere(cluster(), ['create', 'worker', '--reconcile']);
  assert.equal(code, 3);
  assert.match(stdout, /^worker {2}NotReady +1 node \(1 joined\) /m);
});
