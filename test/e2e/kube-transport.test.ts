/** The transport on a real kube-apiserver when connections and responses fail. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect as connectSocket, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Connection, connect } from '../../src/kube/connect.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli, useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from './watching.ts';

describe('the transport', () => {
  const cluster = useCluster();

  async function open(t: TestContext, kubeconfig: string, log: string[] = [], concurrency = 8): Promise<Connection> {
    const keep = (level: number, text: () => string) => level <= 6 && log.push(text());
    const connection = await connect({ kubeconfig, env: {}, log: keep, version: '0.0.0', concurrency });
    t.after(() => connection.close());
    return connection;
  }

  async function listening(server: Server): Promise<string> {
    await new Promise<void>(resolve => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Forwards bytes to the API server; `cut` drops each open connection at the next bytes from the client. */
  async function relay(t: TestContext) {
    const target = new URL(cluster().server);
    const sides = new Set<{ cut: boolean }>();
    let opened = 0;
    const server = createServer(client => {
      opened += 1;
      const side = { cut: false };
      sides.add(side);
      const upstream = connectSocket(Number(target.port), target.hostname);
      client.on('data', chunk => (side.cut ? client.resetAndDestroy() : upstream.write(chunk)));
      upstream.on('data', chunk => client.write(chunk));
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
    });
    const address = await listening(server);
    const kubeconfig = join(cluster().dir, `relay-${address.split(':')[1]}.kubeconfig`);
    const original = await readFile(cluster().kubeconfig, 'utf8');
    await writeFile(kubeconfig, original.replaceAll(target.host, address));
    const cut = () => {
      for (const side of sides) side.cut = true;
    };
    t.after(() => server.close());
    return { kubeconfig, cut, opened: () => opened };
  }

  test('reuses connections, and opens no more than the limit', async t => {
    const { kubeconfig, opened } = await relay(t);
    const connection = await open(t, kubeconfig, [], 3);
    await Promise.all(Array.from({ length: 50 }, () => connection.cluster.nodes.get('nowhere')));
    assert.equal(opened(), 3);
  });

  test('the product reuses connections on every runtime', async t => {
    const { kubeconfig, opened } = await relay(t);
    const nodes = Array.from({ length: 40 }, (_, i) => ({
      name: `many-${i}`,
      labels: { 'node-role.kubernetes.io/many': '' },
    }));
    await createNodes(cluster(), nodes);
    await cli(cluster(), ['install']);
    await cli(cluster(), ['create', 'many', '--label=tier=many']);
    const before = opened();
    const { code, stderr } = await cli(cluster(), ['reconcile', '--concurrency=3', '--kubeconfig', kubeconfig, '-v=6']);
    assert.equal(code, 0, stderr);
    assert.equal(stderr.match(/PATCH .*many-\d+.* 200 in/g)?.length, nodes.length);
    assert.equal(opened() - before, 3, stderr);
  });

  test('resends guarded requests after a cut connection, but not a create', async t => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const { kubeconfig, cut, opened } = await relay(t);
    const connection = await open(t, kubeconfig);
    await Promise.all(Array.from({ length: 5 }, () => connection.serverVersion()));
    assert.equal(opened(), 5);
    cut();
    const node = await connection.cluster.nodes.get('a');
    assert.ok(node);
    assert.equal(opened(), 6);
    cut();
    const write = await connection.cluster.nodes.patch('a', {
      resourceVersion: node.resourceVersion,
      labels: { again: 'yes' },
    });
    assert.equal(write.kind, 'written');
    cut();
    const pool = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'p' }, spec: {} };
    await assert.rejects(connection.cluster.pools.create(pool), /closed the connection before it answered/);
  });

  test('waits out a 429 with Retry-After', async t => {
    await createNodes(
      cluster(),
      Array.from({ length: 100 }, (_, i) => ({ name: `crowded-${i}` })),
    );
    const flow = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', metadata: { name: 'shut' } };
    const admin = raw(cluster());
    const limited = { nominalConcurrencyShares: 0, lendablePercent: 0, limitResponse: { type: 'Reject' } };
    const group = '/apis/flowcontrol.apiserver.k8s.io/v1';
    await admin.expect('POST', `${group}/prioritylevelconfigurations`, {
      ...flow,
      kind: 'PriorityLevelConfiguration',
      spec: { type: 'Limited', limited: { ...limited, borrowingLimitPercent: 0 } },
    });
    await admin.expect('POST', `${group}/flowschemas`, {
      ...flow,
      kind: 'FlowSchema',
      spec: {
        priorityLevelConfiguration: { name: 'shut' },
        matchingPrecedence: 2,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'crowd' } }],
            resourceRules: [
              { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
            ],
          },
        ],
      },
    });
    await admin.expect('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'crowd' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', name: 'crowd', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    const log: string[] = [];
    const crowd = await open(t, await kubeconfigFor(cluster(), 'crowd'), log);
    // The server caches bindings and sees a new one a moment later.
    const isBound = () =>
      crowd.cluster.nodes.list().then(
        () => true,
        () => false,
      );
    await eventually('the role is bound', isBound);
    const answers = (status: number) => log.filter(line => line.includes(` ${status} in `)).length;
    // With only the guaranteed seat, concurrent requests are rejected.
    for (let round = 0; round < 50 && answers(429) === 0; round++) {
      log.length = 0;
      await Promise.all(Array.from({ length: 6 }, () => crowd.cluster.nodes.list()));
    }
    assert.ok(answers(429) > 0, 'nothing was turned away');
    assert.equal(answers(200), 6);
  });

  test('uses the proxy-url of the kubeconfig', async t => {
    const target = new URL(cluster().server);
    let tunnels = 0;
    const proxy = createHttpServer();
    proxy.on('connect', (_request, client) => {
      tunnels += 1;
      const upstream = connectSocket(Number(target.port), target.hostname, () => {
        client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        client.pipe(upstream).pipe(client);
      });
      for (const socket of [client, upstream]) socket.on('error', () => {});
    });
    const address = await listening(proxy);
    const kubeconfig = join(cluster().dir, 'proxied.kubeconfig');
    const original = await readFile(cluster().kubeconfig, 'utf8');
    await writeFile(kubeconfig, original.replace(/( *)server: .*/, `$&\n$1proxy-url: http://${address}`));
    const connection = await open(t, kubeconfig);
    t.after(() => proxy.close());
    assert.match(await connection.serverVersion(), /^v1/);
    assert.equal((await connection.cluster.nodes.get('a'))?.name, 'a');
    assert.equal(tunnels, 1);
  });

  test('rereads a changed token file on a 401', async t => {
    const kubeconfig = join(cluster().dir, 'token-file.kubeconfig');
    const token = join(cluster().dir, 'token');
    await writeFile(token, 'old\n');
    await writeFile(
      kubeconfig,
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [
          {
            name: 'c',
            cluster: {
              server: cluster().server,
              'certificate-authority-data': Buffer.from(cluster().ca).toString('base64'),
            },
          },
        ],
        users: [{ name: 'u', user: { tokenFile: 'token' } }],
      }),
    );
    const log: string[] = [];
    const connection = await open(t, kubeconfig, log);
    await assert.rejects(connection.serverVersion(), /refused the credentials of user "u"/);
    assert.equal(log.length, 2, 'asked once more with the token read again');
    const made = await raw(cluster()).expect('POST', '/api/v1/namespaces/default/serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'robot' },
    });
    assert.ok(made);
    const issued = (await raw(cluster()).expect('POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    })) as { status: { token: string } };
    await writeFile(token, `${issued.status.token}\n`);
    assert.match(await connection.serverVersion(), /^v1/);
  });
});
