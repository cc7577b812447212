/** For which servers a proxy of the environment is used, compared with kubectl over a table, with a real proxy. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { before, describe, test } from 'node:test';
import { proxyFromEnvironment } from '../../src/kube/proxy/proxy.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { httpProxy } from '../cluster/proxies.ts';

/** `PROXY` stands for the proxy's address. The names and addresses do not exist. */
const TABLE: [env: Record<string, string>, server: string][] = [
  [{ HTTPS_PROXY: 'http://PROXY' }, 'https://api.invalid:6443'],
  [{ https_proxy: 'http://PROXY' }, 'https://api.invalid:6443'],
  [{ HTTPS_PROXY: 'PROXY' }, 'https://api.invalid:6443'],
  [{ HTTP_PROXY: 'http://PROXY' }, 'https://api.invalid:6443'],
  [{ ALL_PROXY: 'http://PROXY' }, 'https://api.invalid:6443'],
  [{ HTTP_PROXY: 'http://PROXY' }, 'http://api.invalid:8080'],
  [{ HTTPS_PROXY: 'http://PROXY' }, 'https://localhost:1'],
  [{ HTTPS_PROXY: 'http://PROXY' }, 'https://127.0.0.9:1'],
  [{ HTTPS_PROXY: 'http://PROXY' }, 'https://[::1]:1'],
  [{ HTTPS_PROXY: 'http://PROXY' }, 'https://[::ffff:127.0.0.1]:1'],
  [{ HTTPS_PROXY: 'http://PROXY' }, 'https://127.0.0.1.invalid:1'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '*' }, 'https://api.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: 'api.invalid' }, 'https://API.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', no_proxy: 'invalid' }, 'https://api.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: 'pi.invalid' }, 'https://api.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '.api.invalid' }, 'https://api.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '*.invalid' }, 'https://api.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: 'api.invalid:443' }, 'https://api.invalid'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: 'api.invalid:443' }, 'https://api.invalid:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: 'x, 192.0.2.0/24' }, 'https://192.0.2.7:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '192.0.2.0/28' }, 'https://192.0.2.17'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '192.0.2.7:6443' }, 'https://192.0.2.7:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '192.0.2.7:6443' }, 'https://192.0.2.7:443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '192.0.2' }, 'https://192.0.2.7'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '2001:db8::/32' }, 'https://[2001:db8::7]:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '[2001:db8::7]:6443' }, 'https://[2001:db8::7]:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '[2001:db8::7]' }, 'https://[2001:db8::7]:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: '2001:db8:0::7' }, 'https://[2001:db8::7]:6443'],
  [{ HTTPS_PROXY: 'http://PROXY', NO_PROXY: ':6443' }, 'https://api.invalid:6443'],
];

describe('the proxy of the environment', () => {
  let kubectl = '';
  before(async () => {
    kubectl = (await ensureBinaries(['kubectl'])).kubectl;
  });

  for (const [env, server] of TABLE) {
    test(`${JSON.stringify(env)} ${server}`, async t => {
      const proxy = await httpProxy(t, { port: 1 });
      const own = Object.fromEntries(
        Object.entries(env).map(([name, value]) => [name, value.replace('PROXY', proxy.address)]),
      );
      const args = [
        '--kubeconfig=/dev/null',
        '--token=x',
        '--server',
        server,
        '--request-timeout=1s',
        'get',
        '--raw',
        '/x',
      ];
      await new Promise<void>(resolve => execFile(kubectl, args, { env: own }, () => resolve()));
      assert.equal(proxyFromEnvironment(new URL(server), own) !== undefined, proxy.asked.length > 0);
    });
  }
});
