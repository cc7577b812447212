/** Completion on a real cluster: its names, quickly, and no other output. */
import assert from 'node:assert/strict';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { completionScript } from '../../src/commands/completion/scripts.ts';
import { kubectl } from '../cluster/harness.ts';
import { pluginFolder } from '../cluster/plugin.ts';
import { raw } from '../cluster/raw.ts';
import { startProxy } from '../fault/proxy.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok } = commandsOf(cluster);

const cache = () => join(cluster().dir, 'completion-cache');

/** The candidates, without an earlier cache unless `keep` is set. */
async function complete(words: string[], { keep = false, kubeconfig = cluster().kubeconfig } = {}): Promise<string> {
  if (!keep) await rm(cache(), { recursive: true, force: true });
  const env = { XDG_CACHE_HOME: cache(), KUBECONFIG: kubeconfig };
  return ok(['__complete', ...words], { env });
}

/** A kubeconfig like the cluster's, with another user. */
async function kubeconfigOf(name: string, user: object, server = cluster().server): Promise<string> {
  const file = join(cluster().dir, `${name}.config`);
  const ca = Buffer.from(cluster().ca).toString('base64');
  const config = {
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user }],
    contexts: [{ name, context: { cluster: 'c', user: 'u' } }],
    'current-context': name,
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function objects(): Promise<void> {
  await testEnv.nodes({ name: 'node-a', labels: { ...role('gpu'), tier: 'gold' } }, { name: 'node-b' });
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'a' } } });
  await testEnv.pool('worker');
}

test('completes pools, nodes and label keys of the cluster', async () => {
  await objects();
  assert.equal(await complete(['get', '']), 'gpu\nworker\n:4\n');
  assert.equal(await complete(['delete', 'gpu', '']), 'worker\n:4\n');
  assert.equal(await complete(['create', 'x', '--nodes', 'node-b,']), 'node-b,node-a\n:4\n');
  assert.equal(await complete(['create', 'x', '--node-selector', 'tie']), 'tier=\n:6\n');
  assert.equal(await complete(['get', '-l', '']), 'team=\n:6\n');
});

test('completes namespaces, and a limited number of pods of one namespace', async t => {
  const api = raw(cluster());
  const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
  await api.request('POST', '/api/v1/namespaces', { metadata: { name: 'bakery' } });
  const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'node-a' };
  t.after(async () => {
    await api.expect('DELETE', `${pods('bakery')}?gracePeriodSeconds=0`);
    await api.expect('DELETE', `${pods('default')}?gracePeriodSeconds=0`);
  });
  for (const [namespace, name] of [
    ['default', 'here'],
    ['bakery', 'web-2'],
    ['bakery', 'web-1'],
  ] as const)
    await api.expect('POST', pods(namespace), { metadata: { name, labels: { a: 'b' } }, spec });
  assert.equal(await complete(['fit', '']), 'here\n:4\n');
  assert.equal(await complete(['fit', '-n', 'bakery', '']), 'web-1\nweb-2\n:4\n');
  assert.equal(await complete(['fit', 'bakery/']), 'bakery/web-1\nbakery/web-2\n:4\n');
  assert.equal(await complete(['fit', '-n', 'bak']), 'bakery\n:4\n');
  assert.equal(await complete(['fit', '-n', 'none', '']), ':4\n');
  await objects();
  assert.equal(await complete(['history', 'node/node-']), 'node/node-a\nnode/node-b\n:4\n');
  const proxy = await startProxy(cluster(), cluster().dir);
  t.after(() => proxy.stop());
  const { kubeconfig } = proxy;
  assert.equal(await complete(['fit', '-n', 'bakery', ''], { kubeconfig }), 'web-1\nweb-2\n:4\n');
  assert.equal(await complete(['fit', ''], { kubeconfig, keep: true }), 'here\n:4\n');
  assert.equal(await complete(['fit', '-n', 'bakery', ''], { kubeconfig, keep: true }), 'web-1\nweb-2\n:4\n');
  const asked = proxy.requests.map(({ path, query }) => `${path}?${query}`);
  assert.deepEqual(asked, [`${pods('bakery')}?limit=1000`, `${pods('default')}?limit=1000`]);
});

test('completes the revisions of the named pool', async () => {
  await testEnv.pool('gpu', { rollout: {} });
  await testEnv.pool('worker', { rollout: {} });
  await testEnv.reconcile();
  for (const tier of ['1', '2']) {
    await testEnv.edit('gpu', { spec: { labels: { tier } } });
    await testEnv.reconcile();
  }
  assert.equal(await complete(['rollout', 'undo', 'gpu', '--to-revision', '']), '1\n2\n3\n:4\n');
  assert.equal(await complete(['rollout', 'history', 'worker', '--revision', '']), '1\n:4\n');
  assert.equal(await complete(['rollout', 'undo', 'other', '--to-revision', '']), ':4\n');
});

test('completes the nodes of the named pool, by role before its first reconcile and by record afterwards', async () => {
  await objects();
  await testEnv.nodes({ name: 'node-c', labels: { tier: 'iron' }, allocatable: { 'nvidia.com/gpu': '2' } });
  await testEnv.pool('tiered', { nodeSelector: { tier: 'iron' } });
  const offered = async () => [
    await complete(['remove', 'gpu', '']),
    await complete(['cordon', 'tiered', '--node', '']),
    await complete(['add', 'tiered', '']),
    await complete(['top', '--resources', 'nv']),
  ];
  assert.deepEqual(await offered(), ['node-a\n:4\n', ':4\n', 'node-a\nnode-b\nnode-c\n:4\n', ':4\n']);
  await testEnv.reconcile();
  assert.deepEqual(await offered(), ['node-a\n:4\n', 'node-c\n:4\n', 'node-b\n:4\n', 'nvidia.com/gpu\n:4\n']);
});

test('caches names for some seconds in a file of mode 0600', async () => {
  await objects();
  assert.equal(await complete(['get', 'g']), 'gpu\n:4\n');
  await testEnv.pool('green');
  assert.equal(await complete(['get', 'g'], { keep: true }), 'gpu\n:4\n');
  assert.equal(await complete(['get', 'g']), 'gpu\ngreen\n:4\n');
});

test('completes through kubectl', async () => {
  await objects();
  const folder = await pluginFolder(cluster());
  const asked = join(folder, 'kubectl_complete-nodepool');
  await writeFile(asked, completionScript('kubectl'));
  await chmod(asked, 0o755);
  const words = async (...line: string[]) => (await kubectl(cluster(), ['__complete', 'nodepool', ...line])).stdout;
  assert.equal(await words('get', ''), 'gpu\nworker\n:4\n');
  assert.match(await words('desc'), /^describe\tShow pools in detail[^\n]*\n:4\n$/);
  assert.equal(await words('create', '-f', ''), ':0\n');
  await rm(asked);
});

test('prints nothing when the server does not answer in time', async t => {
  const sockets: Socket[] = [];
  const held: number[] = [];
  const server = createServer(socket => {
    const start = performance.now();
    sockets.push(socket);
    socket.on('error', () => {}).on('close', () => held.push(performance.now() - start));
    socket.resume();
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const kubeconfig = await kubeconfigOf('silent', { token: 'x' }, `https://127.0.0.1:${port}`);
  assert.equal(await complete(['get', ''], { kubeconfig }), ':4\n');
  await eventually('it hangs up', () => held.length > 0);
  // Start-up time is not measured: it depends on the machine.
  assert.ok(held.length === 1 && held.every(ms => ms < 2_500), `the deadline is 0.8 s: ${held}`);
});

test('completes no names without permission to list or with a broken kubeconfig', async () => {
  await objects();
  assert.equal(await complete(['get', ''], { kubeconfig: await kubeconfigOf('stranger', { token: 'wrong' }) }), ':4\n');
  assert.equal(await complete(['get', ''], { kubeconfig: join(cluster().dir, 'nowhere') }), ':4\n');
  const broken = join(cluster().dir, 'broken.config');
  await writeFile(broken, '{{');
  assert.equal(await complete(['get', '--context', ''], { kubeconfig: broken }), ':4\n');
});

test('runs exec plugins only with interactiveMode Never', async () => {
  await objects();
  const script = join(cluster().dir, 'credentials');
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'wrong' },
  };
  await writeFile(script, `#!/bin/sh\necho run >> '${script}.runs'\necho '${JSON.stringify(credential)}'\n`);
  await chmod(script, 0o755);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: script };
  const withMode = async (interactiveMode: string, ...args: string[]) => {
    await writeFile(`${script}.runs`, '');
    const user = { exec: { ...exec, args, interactiveMode } };
    await complete(['get', ''], { kubeconfig: await kubeconfigOf(interactiveMode, user) });
    return readFile(`${script}.runs`, 'utf8');
  };
  assert.equal(await withMode('IfAvailable'), '');
  assert.equal(await withMode('Always'), '');
  assert.equal(await withMode('Never', 'oidc-login'), '');
  // A second login, after the server refused its token.
  assert.match(await withMode('Never'), /^run\n/);
});
