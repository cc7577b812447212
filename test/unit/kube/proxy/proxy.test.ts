/** Which proxy is used: the documented cases of golang.org/x/net/http/httpproxy, and proxy-url. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { proxyFromEnvironment, proxyOf } from '../../../../src/kube/proxy/proxy.ts';

const P = 'http://proxy:3128/';

describe('the proxy of the environment', () => {
  const table: [env: Record<string, string>, target: string, proxy: string | undefined][] = [
    [{}, 'https://far', undefined],
    [{ HTTPS_PROXY: P }, 'https://far', P],
    [{ https_proxy: P }, 'https://far', P],
    [{ HTTPS_PROXY: P, https_proxy: 'http://other' }, 'https://far', P],
    [{ HTTPS_PROXY: P }, 'http://far', undefined],
    [{ HTTP_PROXY: P }, 'http://far', P],
    [{ HTTP_PROXY: P, ALL_PROXY: P }, 'https://far', undefined],
    [{ HTTPS_PROXY: 'proxy:3128' }, 'https://far', P],
    [{ HTTPS_PROXY: 'u:p%40@proxy:3128' }, 'https://far', 'http://u:p%40@proxy:3128/'],
    [{ HTTPS_PROXY: 'socks5://proxy' }, 'https://far', 'socks5://proxy'],
    // localhost never uses a proxy of the environment.
    [{ HTTPS_PROXY: P }, 'https://localhost:6443', undefined],
    [{ HTTPS_PROXY: P }, 'https://127.1.2.3:6443', undefined],
    [{ HTTPS_PROXY: P }, 'https://[::1]:6443', undefined],
    [{ HTTPS_PROXY: P }, 'https://[::ffff:127.0.0.1]:6443', undefined],
    [{ HTTPS_PROXY: P }, 'https://127.0.0.1.example.com:6443', P],
    [{ HTTPS_PROXY: P }, 'https://[::2]:6443', P],
  ];
  for (const [env, target, proxy] of table) {
    test(`${JSON.stringify(env)} ${target}`, () => {
      assert.equal(proxyFromEnvironment(new URL(target), env)?.url.href, proxy);
    });
  }
});

describe('NO_PROXY', () => {
  const table: [noProxy: string, target: string, proxied: boolean][] = [
    ['', 'https://foo.com', true],
    ['*', 'https://foo.com', false],
    ['*', 'https://10.0.0.1', false],
    ['foo.com', 'https://foo.com', false],
    ['foo.com', 'https://FOO.com:6443', false],
    ['foo.com', 'https://bar.foo.com', false],
    ['foo.com', 'https://afoo.com', true],
    ['.foo.com', 'https://bar.foo.com', false],
    ['.foo.com', 'https://foo.com', true],
    ['*.foo.com', 'https://bar.foo.com', false],
    ['*.foo.com', 'https://foo.com', true],
    ['foo.com:6443', 'https://foo.com:6443', false],
    ['foo.com:6443', 'https://foo.com', true],
    ['foo.com:443', 'https://foo.com', false],
    ['.foo.com:443', 'https://a.foo.com', false],
    [' a.com , FOO.com', 'https://foo.com', false],
    ['10.0.0.1', 'https://10.0.0.1:6443', false],
    ['10.0.0.1:443', 'https://10.0.0.1:6443', true],
    ['10.0.0.1:6443', 'https://10.0.0.1:6443', false],
    ['10.0.0', 'https://10.0.0.1', true],
    ['10.0.0.0/8', 'https://10.250.3.4', false],
    ['10.0.0.0/8', 'https://11.0.0.1', true],
    ['10.0.0.0/99', 'https://10.0.0.1', true],
    ['10.0.0.0/8', 'https://10.example', true],
    ['fd00::/8', 'https://[fd12::1]:6443', false],
    ['fd00::/8', 'https://[fe80::1]', true],
    ['fd12::1', 'https://[fd12::1]', false],
    ['fd12:0::1', 'https://[fd12::1]', false],
    ['[fd12::1]:6443', 'https://[fd12::1]:6443', false],
    ['[fd12::1]:6443', 'https://[fd12::1]', true],
    [':6443,/8,,', 'https://foo.com:6443', true],
    ['com', 'https://foo.com', false],
    ['1', 'https://10.0.0.1', true],
  ];
  for (const [noProxy, target, proxied] of table) {
    test(`${noProxy} ${target}`, () => {
      for (const name of ['NO_PROXY', 'no_proxy']) {
        const proxy = proxyFromEnvironment(new URL(target), { HTTPS_PROXY: P, [name]: noProxy });
        assert.equal(proxy !== undefined, proxied);
      }
    });
  }
});

describe('proxy-url', () => {
  const cluster = (proxyUrl: string) => ({
    name: 'c',
    server: 'https://127.0.0.1:6443',
    skipTlsVerify: false,
    proxyUrl,
  });

  test('overrides the environment, including for localhost', () => {
    const proxy = proxyOf(cluster('socks5://p:1'), { HTTPS_PROXY: P, NO_PROXY: '*' });
    assert.deepEqual([proxy?.url.href, proxy?.source], ['socks5://p:1', 'proxy-url of cluster "c"']);
  });

  test('is refused, without showing its password, when it is not a proxy URL', () => {
    for (const [url, shown] of [
      ['ftp://u:secret@p', 'ftp://p'],
      ['u:secret@p:1', 'p:1'],
      ['http://u:s/e@cret@p:1', 'http://p:1'],
      ['p:1', 'p:1'],
      ['http://', 'http://'],
    ] as const) {
      assert.throws(() => proxyOf(cluster(url), {}), {
        message: `proxy-url of cluster "c": ${shown} is not a proxy address`,
        next: 'use http://, https:// or socks5://',
      });
    }
    assert.throws(() => proxyFromEnvironment(new URL('https://far'), { HTTPS_PROXY: 'ftp://p' }), {
      message: 'HTTPS_PROXY: ftp://p is not a proxy address',
    });
  });
});
