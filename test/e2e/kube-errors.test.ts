/** The whole error messages when an API server is unreachable. Refusals: kube-refusals.test.ts. */
import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { useErrorCases } from './error-cases.ts';

const { cluster, reported, kubeconfig } = useErrorCases();

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
    await reported(path),
    `cannot reach the server https://${address}: connection refused; next: check that the server is running, and the address in ${path}`,
  );
});

test('reports a name that does not resolve', async () => {
  const path = await kubeconfig('https://no-such-host.invalid:6443');
  assert.equal(
    await reported(path),
    `cannot reach the server https://no-such-host.invalid:6443: the name no-such-host.invalid cannot be resolved; next: check the server's name in ${path} and your network`,
  );
});

test('reports a server that never answers', async () => {
  const server = createServer(socket => socket.on('error', () => {}));
  const address = await listening(server);
  const start = performance.now();
  assert.equal(
    await reported(await kubeconfig(`https://${address}`), '--request-timeout=1s'),
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
    await reported(await kubeconfig(`http://${address}`), '--request-timeout=1s'),
    `the server http://${address} gave no answer within 1 s; next: check that the cluster is up, or wait longer with --request-timeout`,
  );
  server.close();
});

test('reports a server that closes the connection', async () => {
  const server = createServer(socket => socket.on('error', () => {}).once('data', () => socket.destroy()));
  const address = await listening(server);
  assert.equal(
    await reported(await kubeconfig(`http://${address}`)),
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
    await reported(await kubeconfig(`http://${address}`)),
    /is not a Kubernetes API server: it answered 302, see https:\/\/login\.example\.com\/; next: check server of cluster /,
  );
  login.close();
});

test('reports a path without an API, which is requested with one slash', async () => {
  const urls: string[] = [];
  const gateway = createHttpServer(({ url = '' }, response) => {
    urls.push(url);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"message": "no Route matched"}');
  });
  const address = await listening(gateway);
  const path = await kubeconfig(`http://${address}/path/`);
  const { code, stderr } = await cli(cluster(), ['get', '--cached', '--kubeconfig', path, '-v6']);
  const [sent, error] = stderr.split('\n');
  assert.equal(code, 1);
  assert.match(sent ?? '', new RegExp(`^GET http://${address}/path/apis/nodes\\.lailin\\.xyz/v1/nodepools\\?`));
  assert.match(
    error ?? '',
    new RegExp(
      `^error: http://${address}/path/ is not a Kubernetes API server: it answered 404 with JSON that is not a Status; next: check server of cluster "c" in .*: scheme, address, port and path, `,
    ),
  );
  assert.deepEqual([...new Set(urls.map(url => url.split('?')[0]))], ['/path/apis/nodes.lailin.xyz/v1/nodepools']);
  gateway.close();
});

test('reports http to a TLS port and TLS to an http port', async () => {
  const http = createHttpServer();
  const address = await listening(http);
  const path = await kubeconfig(`https://${address}`);
  assert.match(
    await reported(path),
    new RegExp(
      `^cannot reach the server https://${address}: unexpected TLS answer \\(.*\\); next: check https:// or http:// and the port in server of cluster "[^"]+" in ${path}$`,
    ),
  );
  http.close();
  const plain = cluster().server.replace('https:', 'http:');
  assert.match(
    await reported(await kubeconfig(plain)),
    /: it answered 400: Client sent an HTTP request to an HTTPS server\.; next: check server of cluster "[^"]+" in .*: scheme, address, /,
  );
});
