/** Requests through real proxies to a real server, which the proxies know as api.example. */
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createSecureContext, type TLSSocket } from 'node:tls';
import { newAgent } from '../../../../src/kube/proxy/proxy-agent.ts';
import { clientCertificate, createAuthority, serverCertificate } from '../../../cluster/certificates.ts';
import { httpProxy, socksProxy } from '../../../cluster/proxies.ts';

const authority = createAuthority('test');
const { cert, key } = clientCertificate(authority, 'joe', [], {});
const secureContext = createSecureContext({ ca: authority.cert, cert, key });
const NAMES = ['api.example', '127.0.0.1'];

describe('through a proxy', () => {
  const secure = https.createServer(
    { ...serverCertificate(authority, NAMES), ca: authority.cert, requestCert: true },
    (request, response) => response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
  );
  const plain = http.createServer((request, response) => response.end(`plain ${request.url}`));
  const portOf = (server: http.Server) => (server.address() as AddressInfo).port;
  before(() =>
    Promise.all([secure, plain].map(server => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)))),
  );
  after(() => {
    for (const server of [secure, plain]) {
      server.close();
      server.closeAllConnections();
    }
  });

  function client(t: TestContext, proxy: string, server = 'https://api.example:6443') {
    const target = new URL(server);
    const agent = newAgent(target, { url: new URL(proxy), source: 'HTTPS_PROXY' }, { keepAlive: true, secureContext });
    t.after(() => agent.destroy());
    const { get } = target.protocol === 'http:' ? http : https;
    const ask = (path = '/') =>
      new Promise<string>((resolve, reject) => {
        const request = get(new URL(path, target), { agent }, async response => {
          response.setEncoding('utf8');
          let body = '';
          for await (const chunk of response) body += chunk;
          resolve(body);
        });
        request.on('error', reject);
      });
    return { agent, ask };
  }

  test('HTTP: sends one CONNECT for a reused connection, and passes the client certificate to the server', async t => {
    const { address, asked } = await httpProxy(t, { port: portOf(secure) });
    const { ask } = client(t, `http://${address}`);
    assert.deepEqual([await ask(), await ask()], ['joe', 'joe']);
    assert.deepEqual(asked, ['CONNECT api.example:6443']);
  });

  test('HTTP: sends a percent-encoded login', async t => {
    const { address, asked } = await httpProxy(t, { port: portOf(secure), login: 'me:p@ss:word' });
    assert.equal(await client(t, `http://me:p%40ss%3Aword@${address}`).ask(), 'joe');
    assert.deepEqual(asked, ['CONNECT api.example:6443 as me:p@ss:word']);
  });

  test('HTTP: reports a missing login without the password', async t => {
    const { address } = await httpProxy(t, { port: portOf(secure), login: 'me:right' });
    await assert.rejects(client(t, `http://me:wrong@${address}`).ask(), {
      message: `cannot reach the server api.example:6443 through the proxy http://${address}: it answered "407 Proxy Authentication Required"`,
      next: 'check HTTPS_PROXY',
    });
  });

  test('HTTPS: verifies the proxy with the same CA', async t => {
    const { address, asked } = await httpProxy(t, { port: portOf(secure) }, serverCertificate(authority, NAMES));
    assert.equal(await client(t, `https://${address}`).ask(), 'joe');
    assert.deepEqual(asked, ['CONNECT api.example:6443']);
    const stranger = await httpProxy(t, { port: portOf(secure) }, serverCertificate(createAuthority('other'), NAMES));
    await assert.rejects(client(t, `https://${stranger.address}`).ask(), /through the proxy https:.*certificate/);
    assert.deepEqual(stranger.asked, []);
  });

  test('requests absolute URLs without a tunnel for an http:// server', async t => {
    const { address, asked } = await httpProxy(t, { port: portOf(plain), login: 'a:b' });
    assert.equal(await client(t, `http://a:b@${address}`, 'http://api.example:8080').ask('/x?y=z'), 'plain /x?y=z');
    assert.deepEqual(asked, ['GET http://api.example:8080/x?y=z as a:b']);
  });

  for (const scheme of ['socks5', 'socks5h']) {
    test(`${scheme}: lets the proxy resolve the name`, async t => {
      const { address, asked } = await socksProxy(t, { port: portOf(secure) });
      const { ask } = client(t, `${scheme}://${address}`);
      assert.deepEqual([await ask(), await ask()], ['joe', 'joe']);
      assert.deepEqual(asked, ['api.example:6443']);
    });
  }

  test('SOCKS5: sends a login and addresses, serves plain HTTP, reports refusals', async t => {
    const { address, asked } = await socksProxy(t, { port: portOf(secure), login: 'me:pw' });
    assert.equal(await client(t, `socks5://me:pw@${address}`, 'https://127.0.0.1:6443').ask(), 'joe');
    await assert.rejects(client(t, `socks5://me:no@${address}`).ask(), /: it does not accept the name and password$/);
    await assert.rejects(client(t, `socks5://${address}`).ask(), /: it requires a login/);
    await assert.rejects(client(t, `socks5://me:pw@${address}`, 'https://forbidden').ask(), /: its rules do not allow/);
    await assert.rejects(client(t, `socks5://me:pw@${address}`, 'https://[fd00::a:1]:6443').ask(), /altname|cert/i);
    const open = await socksProxy(t, { port: portOf(plain) });
    assert.equal(await client(t, `socks5://${open.address}`, 'http://api.example').ask('/x'), 'plain /x');
    assert.deepEqual(
      [...asked, ...open.asked],
      [
        '127,0,0,1:6443 as me:pw',
        'forbidden:443 as me:pw',
        '253,0,0,0,0,0,0,0,0,0,0,0,0,10,0,1:6443 as me:pw',
        'api.example:80',
      ],
    );
  });

  test('reports a server that is not a proxy, or not reachable', async t => {
    await assert.rejects(
      client(t, 'http://127.0.0.1:1').ask(),
      /through the proxy http:\/\/127.0.0.1:1: .*ECONNREFUSED/,
    );
    const socks = await socksProxy(t, { port: portOf(secure) });
    await assert.rejects(client(t, `http://${socks.address}`).ask(), /: it answered with something other than HTTP$/);
    const plainProxy = await httpProxy(t, { port: portOf(secure) });
    await assert.rejects(client(t, `socks5://${plainProxy.address}`).ask(), /it does not speak SOCKS5|it closed/);
  });

  test('leaves no connection to a silent proxy open when the agent ends', async t => {
    const { address, asked, open } = await httpProxy(t, { port: portOf(secure), silent: true });
    const { agent, ask } = client(t, `http://${address}`);
    const asking = assert.rejects(ask(), /canceled by the client/);
    while (asked.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
    agent.destroy();
    await asking;
    while (open() > 0) await new Promise(resolve => setTimeout(resolve, 5));
  });
});
