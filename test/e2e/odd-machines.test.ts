/**
 * Machines that lack something: the working directory, a home that can hold files, /proc. As kubectl, the program works there.
 * And two things of which Bun and Node would speak in words of their own.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createWebServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { constants, gzipSync } from 'node:zlib';
import pjson from '../../package.json' with { type: 'json' };
import { createAuthority, serverCertificate } from '../cluster/certificates.ts';
import { cli, useCluster } from '../cluster/harness.ts';
import { productCommand, productUnderTest } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';

const cluster = useCluster({ crd: true });
const VERSION = { code: 0, stdout: `Client Version: ${pjson.version}\n`, stderr: '' };

/** Runs the program by a shell. @param script its `"$@"` is the program with the arguments */
function shell(script: string, args: readonly string[], env: Record<string, string> = {}) {
  const { PATH = '' } = process.env;
  return run('sh', ['-c', script, 'sh', ...productCommand(), ...args], { env: { PATH, HOME: tmpdir(), ...env } });
}

test('commands work in a deleted working directory', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-gone-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const there = (...args: string[]) =>
    shell(`mkdir -p ${folder} && cd ${folder} && rmdir ${folder} && exec "$@"`, args, {
      KUBECONFIG: cluster().kubeconfig,
    });
  assert.deepEqual(await there('version', '--client'), VERSION);
  assert.deepEqual(await there('get'), { code: 0, stdout: '', stderr: 'No pools found.\n' });
  const { stdout } = await there('__complete', 'get', '--context', '');
  assert.match(stdout, /^\S+\n:4\n$/);
  const relative = await there('get', '--certificate-authority', 'ca.crt');
  assert.match(relative.stderr, /^error: cannot read the certificate-authority of .*, ca\.crt: no such file; /);
});

test('commands work if the home directory cannot hold files', {
  skip: process.platform !== 'linux' && 'no /proc',
}, async () => {
  assert.deepEqual(await shell('exec "$@"', ['version', '--client'], { HOME: '/proc' }), VERSION);
});

test('commands work without /proc', { skip: productUnderTest() === 'executable' && 'Bun aborts' }, async () => {
  const without = 'unshare --mount sh -c \'mount -t tmpfs none /proc && exec "$@"\' sh "$@"';
  assert.deepEqual(await shell(without, ['version', '--client']), VERSION);
});

async function portOf(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('reports a download that is cut or invalid', async t => {
  const cut = 'the connection was closed before the answer was complete; next: try again';
  const compressed =
    'the server sent a compressed file, which was not requested; next: download the file with another tool and pipe it to -f -';
  const odd = 'the answer is not valid HTTP; next: check the URL';
  const pool = JSON.stringify({ apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'w' } });
  const half = Buffer.concat([
    Buffer.from('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n'),
    gzipSync(pool, { finishFlush: constants.Z_SYNC_FLUSH }),
  ]);
  const cases: [answer: string | Buffer, problem: string][] = [
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na', cut],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na', cut],
    ['', cut],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\na', cut],
    ['SSH-2.0-OpenSSH_9\r\n', odd],
    [half, compressed],
  ];
  for (const [answer, problem] of cases) {
    const server = createServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(answer));
    });
    const url = `http://127.0.0.1:${await portOf(t, server)}/pools.yaml`;
    const { stderr } = await cli(cluster(), ['create', '-f', url, '--dry-run']);
    assert.equal(stderr, `error: ${url}: ${problem}\n`, String(answer));
  }
});

test('ignores NODE_TLS_REJECT_UNAUTHORIZED=0 without a message', async t => {
  const web = createWebServer(serverCertificate(createAuthority('other'), ['127.0.0.1']), (_request, response) => {
    response.end('{}');
  });
  const address = `https://127.0.0.1:${await portOf(t, web)}`;
  const off = { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } };
  const asked = await cli(cluster(), ['get', '--cached', '--server', address], off);
  assert.match(
    asked.stderr,
    /^error: the certificate of the server \S+ is signed by an unknown authority; next: .*\n$/,
  );
  const file = await cli(cluster(), ['create', '--dry-run', '-f', `${address}/pool.yaml`], off);
  assert.match(file.stderr, /^error: \S+\/pool.yaml: .*(certificate|verify).*\n$/);
  const trusted = await cli(cluster(), ['get', '--cached'], off);
  assert.deepEqual(trusted, { code: 0, stdout: '', stderr: 'No pools found.\n' });
});
