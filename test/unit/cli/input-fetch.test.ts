import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fetchText, shownUrl } from '../../../src/cli/input.ts';
import type { NodepoolError } from '../../../src/nodepool/errors.ts';
import { createAuthority, serverCertificate } from '../../cluster/certificates.ts';

const CUT = 'the connection was closed before the answer was complete';

describe('fetching a URL', () => {
  const server = createServer(({ url = '' }, response) => {
    const [path] = url.split('?');
    if (path === '/text') response.end('käse');
    else if (path === '/endless') {
      const feed = () => {
        while (!response.closed && response.write('x'.repeat(64 * 1024)));
      };
      response.on('drain', feed);
      feed();
    } else if (path === '/cut') response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy());
    else if (url.startsWith('/to=')) leadTo(url.slice('/to='.length), response);
    else if (path !== '/silent') response.writeHead(404).end();
  });
  const authority = createAuthority('web');
  const secure = https.createServer(serverCertificate(authority, ['127.0.0.1']), (request, response) => {
    if (request.url === '/text') response.end('secure');
    else leadTo(request.url?.slice('/to='.length) ?? '', response);
  });
  const leadTo = (location: string, response: ServerResponse) =>
    response.writeHead(302, { location: decodeURIComponent(location) }).end();
  const folder = mkdtempSync(join(tmpdir(), 'fetch-'));
  let base: string;
  let secureBase: string;
  before(async () => {
    // Read at the first use of the system's authorities.
    process.env.SSL_CERT_FILE = join(folder, 'ca.pem');
    writeFileSync(process.env.SSL_CERT_FILE, authority.cert);
    await new Promise<void>(resolve => secure.listen(0, '127.0.0.1', resolve));
    secureBase = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    for (const one of [server, secure]) {
      one.closeAllConnections();
      one.close();
    }
    rmSync(folder, { recursive: true });
  });

  test('waits as long as requested, for weeks or without limit', async () => {
    for (const hours of [0, 1, 600, 2_000])
      assert.equal(await fetchText(`${base}/text`, {}, hours * 3_600_000), 'käse');
  });

  test('refuses an error status, a timeout and a too large body', async () => {
    await assert.rejects(fetchText(`${base}/no`, {}), {
      kind: 'input',
      message: `${base}/no: the server answered 404`,
    });
    await assert.rejects(fetchText(`${base}/silent`, {}, 50), { message: `${base}/silent: no answer within 0.05 s` });
    await assert.rejects(fetchText(`${base}/endless`, {}), /larger than 3 MiB/);
    await assert.rejects(fetchText(`${base}/cut`, {}), { message: `${base}/cut: ${CUT}`, next: 'try again' });
  });

  const asHttp = (head: string, body: Buffer | string = '') =>
    Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`), Buffer.from(body)]);
  const pools = Buffer.from('a: 1\n---\n'.repeat(99));
  const invalid = 'the answer is not valid HTTP';
  const answers: [name: string, answer: Buffer | string, reason: string][] = [
    ['another protocol', 'SSH-2.0-OpenSSH_9\r\n', invalid],
    ['an invalid status', 'HTTP/1.1 abc\r\n\r\n', invalid],
    ['two lengths', asHttp('content-length: 5\r\ncontent-length: 6', pools), invalid],
    ['a head without an end', asHttp(`x: ${'y'.repeat(99_999)}`), 'the answer headers are too long'],
    ['nothing', '', CUT],
    ['cut response headers', 'HTTP/1.1 200 OK\r\nConte', CUT],
    ['a cut chunk', asHttp('transfer-encoding: chunked', '9\r\na: 1'), CUT],
    ['an invalid chunk', asHttp('transfer-encoding: chunked', 'zz\r\na: 1\r\n'), CUT],
    ...['gzip', 'br', 'deflate'].map((encoding): [string, Buffer, string] => [
      `${encoding} without its end`,
      asHttp(`content-encoding: ${encoding}\r\nconnection: close`, gzipSync(pools).subarray(0, -9)),
      'the server sent a compressed file, which was not requested',
    ]),
  ];
  for (const [name, answer, reason] of answers) {
    test(`refuses ${name}`, async t => {
      const url = await tcp(t, answer);
      await assert.rejects(fetchText(url, {}), { kind: 'input', message: `${url}: ${reason}` });
    });
  }

  /** A server that gives this answer to everything. */
  async function tcp(t: TestContext, answer: Buffer | string): Promise<string> {
    const raw = createTcpServer(socket => socket.on('error', () => {}).once('data', () => socket.end(answer)));
    t.after(() => raw.close());
    await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(raw.address() as AddressInfo).port}/x`;
  }

  test('describes problems with a certificate, a name, an address or a proxy', async t => {
    const other = https.createServer(serverCertificate(createAuthority('other'), ['127.0.0.1']));
    const misnamed = https.createServer(serverCertificate(authority, ['example.com']));
    for (const one of [other, misnamed]) {
      t.after(() => one.close());
      await new Promise<void>(resolve => one.listen(0, '127.0.0.1', resolve));
    }
    const at = (one: https.Server) => `https://127.0.0.1:${(one.address() as AddressInfo).port}/x`;
    const plain = (await tcp(t, 'SSH-2.0\r\n')).replace('http:', 'https:');
    const proxied = { HTTPS_PROXY: 'http://us:s3cret@127.0.0.1:1', HTTP_PROXY: 'http://us:s3cret@127.0.0.1:1' };
    const cases: [url: string, reason: string, next: RegExp, env?: Record<string, string>][] = [
      [at(other), 'its certificate is signed by an unknown authority', /NODE_EXTRA_CA_CERTS/],
      [at(misnamed), 'its certificate is not valid for the name 127.0.0.1', /check the URL/],
      [plain, 'unexpected TLS answer', /http:\/\//],
      ['http://127.0.0.1:1/x', 'connection refused', /check the URL/],
      ['http://no.invalid/x', 'the name no.invalid cannot be resolved', /your network/],
      ['http://10.0.0.9/x', 'through the proxy http://127.0.0.1:1: connection refused', /HTTP_PROXY$/, proxied],
      [
        'https://10.0.0.9/x',
        'cannot reach the server 10.0.0.9:443 through the proxy http://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1',
        /HTTPS_PROXY$/,
        proxied,
      ],
    ];
    for (const [url, reason, next, env = {}] of cases) {
      await assert.rejects(fetchText(url, env), (error: NodepoolError) => {
        assert.equal(error.message, `${url}: ${reason}`);
        assert.match(error.next ?? '', next);
        return true;
      });
    }
    const led = `${base}/to=${encodeURIComponent('http://127.0.0.1:1/x')}`;
    await assert.rejects(fetchText(led, {}), { message: `${led}: http://127.0.0.1:1/x: connection refused` });
  });

  test('follows redirects to https, but not from https to http', async () => {
    const to = (location: string) => `/to=${encodeURIComponent(location)}`;
    assert.equal(await fetchText(`${base}${to('/text')}`, {}), 'käse');
    assert.equal(await fetchText(`${base}${to(`${secureBase}/text`)}`, {}), 'secure');
    assert.equal(await fetchText(`${secureBase}${to(`${secureBase}/text`)}`, {}), 'secure');
    const down = to(`${base}/text?token=t0ken`);
    await assert.rejects(fetchText(`${secureBase}${down}`, {}), {
      kind: 'input',
      message: `${secureBase}${down}: redirects to ${base}/text, which is not https`,
      next: 'if you trust that URL, give it to -f',
    });
    // Through an intermediate redirect, too.
    await assert.rejects(fetchText(`${base}${to(`${secureBase}${down}`)}`, {}), /, which is not https$/);
    await assert.rejects(fetchText(`${base}${to('file:///etc/passwd')}`, {}), /passwd: not an http or https URL$/);
    await assert.rejects(fetchText(`${base}${to('http://u:p4ss@127.0.0.1/')}`, {}), (error: Error) => {
      assert.match(error.message, /URLs with a user or password are not supported$/);
      return true;
    });
  });

  test('ends a redirect loop', async t => {
    const circle = createServer((_request, response) => response.writeHead(302, { location: '/' }).end());
    t.after(() => {
      circle.closeAllConnections();
      circle.close();
    });
    await new Promise<void>(resolve => circle.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(circle.address() as AddressInfo).port}/`;
    await assert.rejects(fetchText(url, {}), { message: `${url}: redirects to ${url} after 10 redirects` });
  });

  test('leaves user, password, query and fragment out of every message', async () => {
    const secret = /s3cret/;
    const { host } = new URL(base);
    const urls = [
      `http://us:s3cret@${host}/text`,
      `http://s3cret@${host}/text`,
      `${base}/no?token=s3cret`,
      `${base}/no#s3cret`,
      `${base}/no?a=b@s3cret`,
      'http://[/?x=s3cret',
      'http://127.0.0.1:1/?sig=s3cret',
      `${base}/endless?s3cret`,
    ];
    for (const url of urls) {
      await assert.rejects(fetchText(url, {}, 5_000), (error: Error & { next?: string }) => {
        assert.doesNotMatch(`${error.message} ${error.next}`, secret, url);
        assert.match(error.message, /^http:\/\//);
        return true;
      });
    }
    await assert.rejects(fetchText(`${base}/silent?s3cret`, {}, 50), {
      message: `${base}/silent: no answer within 0.05 s`,
    });
    assert.equal(shownUrl('https://u:p@h:1/a/b?d=e#f'), 'https://h:1/a/b');
    assert.equal(shownUrl('https://h/a@v1/b?d=e'), 'https://...@v1/b', 'a password could have the slash');
  });
});
