import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import tls from 'node:tls';
import { fetchText, shownUrl } from '../../../src/cli/input.ts';
import { createAuthority, serverCertificate } from '../../cluster/certificates.ts';

const CUT = 'the connection was closed before the whole file had come';

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
  let base: string;
  let secureBase: string;
  before(async () => {
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), authority.cert]);
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
  });

  test('waits as long as requested: for weeks, and without limit', async () => {
    for (const hours of [0, 1, 600, 2_000]) assert.equal(await fetchText(`${base}/text`, hours * 3_600_000), 'käse');
  });

  test('refuses an error status, a timeout and a body that is too large', async () => {
    await assert.rejects(fetchText(`${base}/no`), { kind: 'input', message: `${base}/no: the server answered 404` });
    await assert.rejects(fetchText(`${base}/silent`, 50), { message: `${base}/silent: no answer within 0.05 s` });
    await assert.rejects(fetchText(`${base}/endless`), /more than 3 MiB/);
    await assert.rejects(fetchText(`${base}/cut`), { message: `${base}/cut: ${CUT}`, next: 'try again' });
  });

  test('follows redirects to https, and none from https to http', async () => {
    const to = (location: string) => `/to=${encodeURIComponent(location)}`;
    assert.equal(await fetchText(`${base}${to('/text')}`), 'käse');
    assert.equal(await fetchText(`${base}${to(`${secureBase}/text`)}`), 'secure');
    assert.equal(await fetchText(`${secureBase}${to(`${secureBase}/text`)}`), 'secure');
    const down = to(`${base}/text?token=t0ken`);
    await assert.rejects(fetchText(`${secureBase}${down}`), {
      kind: 'input',
      message: `${secureBase}${down}: it leads to ${base}/text, which is not https`,
      next: 'name that URL itself if you trust the way to it',
    });
    // Through an intermediate redirect, too.
    await assert.rejects(fetchText(`${base}${to(`${secureBase}${down}`)}`), /, which is not https$/);
    await assert.rejects(fetchText(`${base}${to('file:///etc/passwd')}`), /passwd: it is no URL of http or https$/);
    await assert.rejects(fetchText(`${base}${to('http://u:p4ss@127.0.0.1/')}`), (error: Error) => {
      assert.match(error.message, /a URL with a user or password in it is not asked for$/);
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
    await assert.rejects(fetchText(url), { message: `${url}: it leads to ${url} after 10 redirects` });
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
      await assert.rejects(fetchText(url, 5_000), (error: Error & { next?: string }) => {
        assert.doesNotMatch(`${error.message} ${error.next}`, secret, url);
        assert.match(error.message, /^http:\/\//);
        return true;
      });
    }
    await assert.rejects(fetchText(`${base}/silent?s3cret`, 50), {
      message: `${base}/silent: no answer within 0.05 s`,
    });
    assert.equal(shownUrl('https://u:p@h:1/a/b?d=e#f'), 'https://h:1/a/b');
    assert.equal(shownUrl('https://h/a@v1/b?d=e'), 'https://...@v1/b', 'a password could have the slash');
  });
});
