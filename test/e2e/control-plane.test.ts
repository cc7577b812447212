import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { clientCertificate } from '../cluster/certificates.ts';
import { startControlPlane } from '../cluster/control-plane.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { kubectl, useCluster } from '../cluster/harness.ts';
import { createNodes, deleteNodes, setReady } from '../cluster/nodes.ts';
import { raw, rawClient } from '../cluster/raw.ts';
import { run } from '../cluster/run.ts';

interface NodeBody {
  metadata: { managedFields: { manager: string }[] };
  spec: { taints?: { key: string; effect: string }[] };
  status: { conditions: { type: string; status: string }[]; allocatable: Record<string, string>; images: unknown[] };
}

describe('a running control plane', () => {
  const cluster = useCluster({ audit: true });

  test('is ready, listens on loopback, and has a kubeconfig of mode 0600', async () => {
    const { kubeconfig, server } = cluster();
    assert.deepEqual(await raw(cluster()).request('GET', '/readyz'), { status: 200, body: 'ok' });
    assert.match(server, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
    assert.match(await readFile(kubeconfig, 'utf8'), /^current-context: nodepool-demo$/m);
  });

  test('has a kubectl of the same version that finds the product as a plugin', async () => {
    const version = await kubectl(cluster(), ['version', '-o', 'json']);
    const { clientVersion, serverVersion } = JSON.parse(version.stdout);
    assert.equal(clientVersion.gitVersion, serverVersion.gitVersion);
    const plugins = await kubectl(cluster(), ['plugin', 'list']);
    assert.match(plugins.stdout, /kubectl-nodepool$/m);
  });

  test('creates a simulated node, as large as a real one, in one request', async () => {
    await createNodes(cluster(), [{ name: 'n1', labels: { zone: 'x' }, taints: [{ key: 'a', effect: 'NoExecute' }] }]);
    const body = (await raw(cluster()).expect('GET', '/api/v1/nodes/n1')) as NodeBody;
    const size = JSON.stringify(body).length;
    assert.ok(size > 10_000 && size < 12_000, `${size} bytes`);
    assert.equal(body.status.images.length, 40);
    assert.deepEqual(readyStatus(body), 'True');
    assert.deepEqual(body.spec.taints, [{ key: 'a', effect: 'NoExecute' }]);
    assert.equal(body.status.allocatable.memory, '3064520Ki');
    assert.deepEqual(
      body.metadata.managedFields.map(({ manager }) => manager),
      ['kubelet'],
    );
    const writes = (await readAudit(cluster())).filter(event => isWrite(event) && event.name === 'n1');
    assert.deepEqual(
      writes.map(({ verb, resource, code }) => ({ verb, resource, code })),
      [{ verb: 'create', resource: 'nodes', code: 201 }],
    );
    await deleteNodes(cluster(), ['n1', 'never-there']);
  });

  test('taints cordoned and NotReady nodes as a cluster does', async () => {
    await createNodes(cluster(), [
      { name: 'down', ready: false },
      { name: 'cordoned', unschedulable: true },
    ]);
    const down = (await raw(cluster()).expect('GET', '/api/v1/nodes/down')) as NodeBody;
    assert.equal(readyStatus(down), 'False');
    assert.deepEqual(down.spec.taints, [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    const cordoned = (await raw(cluster()).expect('GET', '/api/v1/nodes/cordoned')) as NodeBody;
    assert.deepEqual(cordoned.spec.taints, [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]);
    await setReady(cluster(), 'down', true);
    const up = (await raw(cluster()).expect('GET', '/api/v1/nodes/down')) as NodeBody;
    assert.equal(readyStatus(up), 'True');
    assert.equal(up.status.conditions.length, 4);
    await deleteNodes(cluster());
    const { items } = (await raw(cluster()).expect('GET', '/api/v1/nodes')) as { items: unknown[] };
    assert.equal(items.length, 0);
  });

  test('refuses an expired certificate and a user without permissions', async () => {
    const { authority, server, ca } = cluster();
    const hour = 3_600_000;
    const expired = { notBefore: new Date(Date.now() - 2 * hour), notAfter: new Date(Date.now() - hour) };
    const admins = ['system:masters'];
    const as = async (...args: Parameters<typeof clientCertificate>) =>
      (await rawClient(server, ca, clientCertificate(...args)).request('GET', '/api/v1/nodes')).status;
    assert.equal(await as(authority, 'jane', admins), 200);
    assert.equal(await as(authority, 'jane', admins, expired), 401);
    assert.equal(await as(authority, 'jane'), 403);
    const refused = await kubectl(cluster(), ['get', 'nodes'], {
      env: { KUBECONFIG: await kubeconfigFor(cluster(), 'jane') },
    });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /User "jane" cannot list resource "nodes"/);
  });
});

describe('stopping a control plane', () => {
  test('stop() leaves neither a process nor a file within two seconds', async () => {
    const cluster = await startControlPlane();
    assert.equal(cluster.pids.filter(isAlive).length, 2);
    const start = performance.now();
    await cluster.stop();
    const took = performance.now() - start;
    assert.deepEqual(cluster.pids.filter(isAlive), []);
    assert.equal(existsSync(cluster.dir), false);
    assert.ok(took < 2000, `${took} ms`);
  });

  test('SIGKILL to the process that started it leaves neither a process nor a file', async () => {
    const { child, pids, dir } = await startElsewhere('');
    child.kill('SIGKILL');
    await until(() => !pids.some(isAlive) && !existsSync(dir));
  });

  test('keep() leaves it running until its command is run', async () => {
    const { child, lines, pids, dir } = await startElsewhere('console.log(await cluster.keep()); process.exit(0);');
    const exit = once(child, 'exit');
    const command = String((await lines.next()).value);
    try {
      await exit;
      await sleep(200);
      const { kubectl } = await ensureBinaries(['kubectl']);
      const ready = await run(kubectl, ['--kubeconfig', join(dir, 'kubeconfig'), 'get', '--raw', '/readyz']);
      assert.equal(ready.stdout, 'ok', ready.stderr);
    } finally {
      await run('sh', ['-c', command]);
    }
    await until(() => !pids.some(isAlive) && !existsSync(dir));
  });

  test('reports a program that does not start with the end of its log', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'broken-'));
    const broken = join(folder, 'kube-apiserver');
    await writeFile(broken, '#!/bin/sh\necho "the flag --whatever is wrong" >&2\nexit 1\n', { mode: 0o755 });
    const before = process.env.TEST_ASSET_KUBE_APISERVER;
    process.env.TEST_ASSET_KUBE_APISERVER = broken;
    try {
      await assert.rejects(startControlPlane(), /did not start:\nthe flag --whatever is wrong/);
    } finally {
      if (before === undefined) delete process.env.TEST_ASSET_KUBE_APISERVER;
      else process.env.TEST_ASSET_KUBE_APISERVER = before;
      await rm(folder, { recursive: true });
    }
  });
});

/** Starts a control plane in another process, which runs `then` once it is up. */
async function startElsewhere(then: string) {
  const module = new URL('../cluster/control-plane.ts', import.meta.url).href;
  const script = `
    const { startControlPlane } = await import(process.argv[1]);
    const cluster = await startControlPlane();
    console.log(JSON.stringify({ pids: cluster.pids, dir: cluster.dir }));
    setInterval(() => {}, 1000);
    ${then}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, module], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { pids, dir }: { pids: number[]; dir: string } = JSON.parse(String((await lines.next()).value));
  assert.equal(pids.filter(isAlive).length, 2);
  return { child, lines, pids, dir };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, 'still there after 5 s');
    await sleep(20);
  }
}

function readyStatus(node: NodeBody): string | undefined {
  return node.status.conditions.find(({ type }) => type === 'Ready')?.status;
}
