/** The whole error messages when a real kube-apiserver is unreachable or refuses. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type Connection, type ConnectionOptions, connect } from '../../src/kube/connect.ts';
import { NodepoolError } from '../../src/nodepool/errors.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli, useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';

describe('errors of a connection', () => {
  const cluster = useCluster();

  /** The error of a command that requests only the version: the text depends on the runtime, of which there are two. */
  async function told(kubeconfig: string, ...flags: string[]): Promise<string> {
    const { code, stdout, stderr } = await cli(cluster(), ['version', '--kubeconfig', kubeconfig, ...flags]);
    assert.deepEqual([code, stdout.split('\n').length], [1, 2], stdout);
    const [, line] = /^error: (.*)\n$/.exec(stderr) ?? assert.fail(stderr);
    return line ?? '';
  }

  /** The message and the next step of the error that `use` ends with. */
  async function failure(
    kubeconfig: string,
    use: (connection: Connection) => Promise<unknown>,
    options: Partial<ConnectionOptions> = {},
  ): Promise<string> {
    const connection = await connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0', ...options });
    try {
      await use(connection);
    } catch (error) {
      assert.ok(error instanceof NodepoolError, `not for a user: ${error}`);
      return `${error.message}; next: ${error.next}`;
    } finally {
      connection.close();
    }
    return assert.fail('nothing was refused');
  }

  let files = 0;
  async function kubeconfig(server: string, user = '', clusterMore = ''): Promise<string> {
    files += 1;
    const path = join(cluster().dir, `errors-${files}.kubeconfig`);
    await writeFile(
      path,
      `{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {${user}}}],
        clusters: [{name: c, cluster: {server: "${server}"${clusterMore}}}]}`,
    );
    return path;
  }

  function withCa(): string {
    return `, certificate-authority-data: ${Buffer.from(cluster().ca).toString('base64')}`;
  }

  const servers: Server[] = [];
  // Also when a test fails before it closes its own.
  after(() => {
    for (const server of servers) if (server.listening) server.close();
  });

  async function listening(server: Server): Promise<string> {
    servers.push(server);
    await new Promise<void>(resolve => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function stop(server: Server): Promise<void> {
    await new Promise(resolve => {
      server.close(resolve);
    });
  }

  test('reports a refused connection', async () => {
    const server = createServer();
    const address = await listening(server);
    await stop(server);
    const path = await kubeconfig(`https://${address}`);
    assert.equal(
      await told(path),
      `cannot reach the server https://${address}: connection refused; next: check that it is running and that ${path} names the right address`,
    );
  });

  test('reports a name that does not resolve', async () => {
    const path = await kubeconfig('https://no-such-host.invalid:6443');
    assert.equal(
      await told(path),
      `cannot reach the server https://no-such-host.invalid:6443: the name no-such-host.invalid cannot be resolved; next: check the server's name in ${path} and your network`,
    );
  });

  test('reports a server that never answers', async () => {
    const server = createServer(socket => socket.on('error', () => {}));
    const address = await listening(server);
    const start = performance.now();
    assert.equal(
      await told(await kubeconfig(`https://${address}`), '--request-timeout=1s'),
      `the server https://${address} gave no answer within 1 s; next: check that the cluster is up, or wait longer with --request-timeout`,
    );
    assert.ok(performance.now() - start < 15_000);
    server.close();
  });

  test('reports a server that stops in the middle of its response', async () => {
    const server = createServer(socket => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a');
    });
    const address = await listening(server);
    assert.equal(
      await told(await kubeconfig(`http://${address}`), '--request-timeout=1s'),
      `the server http://${address} gave no answer within 1 s; next: check that the cluster is up, or wait longer with --request-timeout`,
    );
    server.close();
  });

  test('reports a server that closes the connection', async () => {
    const server = createServer(socket => socket.on('error', () => {}).once('data', () => socket.destroy()));
    const address = await listening(server);
    assert.equal(
      await told(await kubeconfig(`http://${address}`)),
      `the server http://${address} closed the connection before it answered; next: try again`,
    );
    server.close();
  });

  test('reports a login page in front of the server', async () => {
    const login = createHttpServer((_request, response) => {
      response.writeHead(302, { location: 'https://login.example.com/' }).end();
    });
    const address = await listening(login);
    assert.match(
      await told(await kubeconfig(`http://${address}`)),
      /is not a Kubernetes API server: it answered 302, see https:\/\/login\.example\.com\/; next: check server of cluster /,
    );
    login.close();
  });

  test('reports http to a TLS port and TLS to an http port', async () => {
    const http = createHttpServer();
    const address = await listening(http);
    const path = await kubeconfig(`https://${address}`);
    assert.match(
      await told(path),
      new RegExp(
        `^cannot reach the server https://${address}: it does not speak TLS as expected \\(.*\\); next: check server of cluster "[^"]+" in ${path}: whether it needs https:// or http://, and its port$`,
      ),
    );
    http.close();
    const plain = cluster().server.replace('https:', 'http:');
    assert.match(
      await told(await kubeconfig(plain)),
      /: it answered 400: Client sent an HTTP request to an HTTPS server\.; next: check server of cluster "[^"]+" in .*: http or https, /,
    );
  });

  test('reports an unknown certificate authority', async () => {
    const path = await kubeconfig(cluster().server);
    assert.equal(
      await told(path),
      `the certificate of the server ${cluster().server} is signed by an unknown authority; next: check certificate-authority of cluster "c" in ${path}`,
    );
    const careless = await kubeconfig(cluster().server, 'token: bad', ', insecure-skip-tls-verify: true');
    assert.match(await told(careless), /refused the credentials/);
  });

  test('reports a certificate for another name', async () => {
    const path = await kubeconfig(cluster().server, '', `${withCa()}, tls-server-name: other.example`);
    assert.equal(
      await told(path),
      `the certificate of the server ${cluster().server} is not for the name other.example; next: correct the server's name, or set tls-server-name in ${path}`,
    );
  });

  test('reports an invalid token', async () => {
    const path = await kubeconfig(cluster().server, 'token: bad', withCa());
    assert.equal(
      await told(path),
      `the server ${cluster().server} refused the credentials of user "u" (401); next: log in again, or choose another user of ${path} with --user or --context`,
    );
  });

  test('reports an expired client certificate', async () => {
    const path = await kubeconfigFor(cluster(), 'eve', { notAfter: new Date('2024-05-06T07:08:09Z') });
    assert.equal(
      await told(path),
      `the client certificate of user "nodepool-demo" in ${path} expired at 2024-05-06T07:08:09Z; next: renew it, or choose another user with --user or --context`,
    );
  });

  test('names each missing permission', async () => {
    const bob = await kubeconfigFor(cluster(), 'bob');
    const patch = { resourceVersion: '1', labels: { a: 'b' } };
    const pool = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'p' }, spec: {} };
    const refused: [string, (connection: Connection) => Promise<unknown>][] = [
      ['list nodes', ({ cluster }) => cluster.listNodes()],
      ['patch Node "a"', ({ cluster }) => cluster.patchNode('a', patch)],
      ['list nodepools', ({ pools }) => pools.list()],
      ['patch the status of NodePool "p"', ({ cluster }) => cluster.patchStatus(pool, { status: 200, nodeCount: 0 })],
      ['list events', ({ events }) => events.list()],
      ['get CustomResourceDefinition "nodepools.nodes.lailin.xyz"', ({ crd }) => crd.get()],
    ];
    const wanted = [
      'list on nodes',
      'patch on nodes',
      'list on nodepools.nodes.lailin.xyz',
      'patch on nodepools.nodes.lailin.xyz/status',
      'list on events.events.k8s.io',
      'get on customresourcedefinitions.apiextensions.k8s.io',
    ];
    for (const [i, [what, use]] of refused.entries()) {
      assert.equal(
        await failure(bob, use),
        `cannot ${what}: user "bob" lacks the permission; next: ask for a role with verb ${wanted[i]}`,
      );
    }
    assert.equal(
      await failure(bob, ({ cluster }) => cluster.listNodes(), { as: 'alice' }),
      'cannot list nodes: user "bob" may not act as another; next: ask for a role with verb impersonate on users, or leave out --as',
    );
  });

  test('names the impersonated user with groups', async () => {
    const admin = cluster().kubeconfig;
    assert.equal(
      await failure(admin, ({ cluster }) => cluster.listNodes(), { as: 'alice', asGroup: ['some'] }),
      'cannot list nodes: user "alice" lacks the permission; next: ask for a role with verb list on nodes',
    );
    const options = { kubeconfig: admin, env: {}, log: () => {}, version: '0.0.0', as: 'alice' };
    const connection = await connect({ ...options, asGroup: ['some', 'system:masters'] });
    assert.deepEqual(await connection.cluster.listNodes(), []);
    connection.close();
  });

  test('reports a write that the server refuses as invalid', async () => {
    await createNodes(cluster(), [{ name: 'a' }]);
    const node = await raw(cluster()).expect('GET', '/api/v1/nodes/a');
    const { resourceVersion } = (node as { metadata: { resourceVersion: string } }).metadata;
    assert.equal(
      await failure(cluster().kubeconfig, ({ cluster }) =>
        cluster.patchNode('a', { resourceVersion, labels: { 'not a key': 'x' } }),
      ),
      "cannot patch Node \"a\": invalid: metadata.labels: Invalid value: \"not a key\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); next: correct the object",
    );
  });

  test('shows no credentials in the request log', async () => {
    const lines: [number, string][] = [];
    const path = await kubeconfig(cluster().server, 'token: secret-token', withCa());
    await failure(path, ({ serverVersion }) => serverVersion(), { log: (level, text) => lines.push([level, text()]) });
    const brief = lines.filter(([level]) => level <= 6).map(([, text]) => text);
    assert.equal(brief.length, 1);
    assert.match(brief[0] ?? '', new RegExp(`^GET ${cluster().server}/version 401 in \\d+ ms$`));
    const all = lines.map(([, text]) => text).join('\n');
    assert.match(all, /Authorization: <hidden>/);
    assert.match(all, /answer body: .*Unauthorized/);
    assert.doesNotMatch(all, /secret-token/);
    assert.doesNotMatch(all, /PRIVATE KEY/);
  });

  test('reads certificates and tokens from files beside the kubeconfig', async () => {
    const { admin, ca, dir } = cluster();
    await writeFile(join(dir, 'ca.pem'), ca);
    await writeFile(join(dir, 'admin.pem'), admin.cert);
    await writeFile(join(dir, 'admin.key'), admin.key);
    const path = await kubeconfig(
      cluster().server,
      'client-certificate: admin.pem, client-key: ./admin.key',
      ', certificate-authority: ca.pem',
    );
    const connection = await connect({ kubeconfig: path, env: {}, log: () => {}, version: '0.0.0' });
    assert.match(await connection.serverVersion(), /^v1/);
    connection.close();
    assert.ok((await readFile(path, 'utf8')).includes('admin.pem'));

    const missing = await kubeconfig(cluster().server, 'client-certificate: gone.pem, client-key: admin.key', withCa());
    assert.equal(
      await told(missing),
      `cannot read the client-certificate of user "u", ${join(dir, 'gone.pem')}: no such file; next: correct the path in the kubeconfig`,
    );
  });
});
