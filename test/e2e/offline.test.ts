/** The errors on a machine without a network: in a network namespace without interfaces. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';

const folder = mkdtempSync(join(tmpdir(), 'nodepool-no-network-'));
const NO_ROUTE = 'no route to the host, or no answer';

after(() => rmSync(folder, { recursive: true }));

/** In the namespace, before the command: routes that the machine has been forbidden. */
const FORBIDDEN = 'ip route add prohibit 10.3.0.0/16 && ip route add blackhole 10.4.0.0/16';
const hasIp = spawnSync('ip', ['-V']).status === 0;

interface Surroundings {
  env?: Record<string, string>;
  user?: object;
  before?: string;
}

/** The error of a command with a kubeconfig for that server. */
async function errorOf(
  server: string,
  { env = {}, user, before = 'true' }: Surroundings = {},
  words = ['get'],
): Promise<string> {
  const kubeconfig = join(folder, 'config');
  const named = (name: string, of: object) => [{ name, ...of }];
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      clusters: named('c', { cluster: { server } }),
      contexts: named('c', { context: { cluster: 'c', user: user === undefined ? '' : 'u' } }),
      ...(user === undefined ? {} : { users: named('u', { user }) }),
    }),
  );
  const command = [...productCommand(), ...words, '--kubeconfig', kubeconfig];
  const { PATH = '' } = process.env;
  const args = ['--net', 'sh', '-c', `${before} && exec "$@"`, 'sh', ...command];
  const { code, stderr } = await run('unshare', args, { env: { PATH, HOME: folder, ...env } });
  assert.equal(code, 1, stderr);
  return stderr.trimEnd();
}

test('reports a server without a route differently from a refused connection', async () => {
  for (const host of ['10.1.2.3:6443', '[2001:db8::1]:6443', 'localhost:6443']) {
    const server = `https://${host}`;
    assert.equal(
      await errorOf(server),
      `error: cannot reach the server ${server}: ${NO_ROUTE}; next: check your network or VPN`,
    );
  }
});

test('reports a proxy without a route', async () => {
  for (const proxy of ['http://10.1.2.4:3128', 'socks5://10.1.2.4:1080']) {
    assert.match(
      await errorOf('https://10.1.2.3:6443', { env: { HTTPS_PROXY: proxy } }),
      new RegExp(`through the proxy ${proxy}: ${NO_ROUTE}; next: check your network or VPN, and HTTPS_PROXY`),
    );
  }
});

test('reports a prohibited or blackholed route', { skip: !hasIp && 'needs ip' }, async () => {
  for (const server of ['https://10.3.1.1:6443', 'https://10.4.1.1:6443']) {
    assert.equal(
      await errorOf(server, { before: FORBIDDEN }),
      `error: cannot reach the server ${server}: ${NO_ROUTE}; next: check your network or VPN`,
    );
  }
});

test('reports a login issuer without a route', async () => {
  const config = { 'idp-issuer-url': 'https://10.2.2.2', 'client-id': 'c', 'refresh-token': 'r' };
  const user = { 'auth-provider': { name: 'oidc', config } };
  const asked = 'https://10.2.2.2/.well-known/openid-configuration';
  assert.equal(
    await errorOf('https://10.1.2.3:6443', { user }),
    'error: the auth-provider oidc gave no credentials for user "u": its token cannot be refreshed: ' +
      `${asked}: ${NO_ROUTE}; next: check your network or VPN`,
  );
});

test('reports a URL whose server has no route', async () => {
  const create = (url: string, env = {}) => errorOf('https://10.1.2.3:6443', { env }, ['create', '-f', url]);
  for (const url of ['https://10.1.1.1/x', 'http://10.1.1.1/x', 'https://[2001:db8::1]/x', 'http://localhost:8080/x']) {
    assert.equal(await create(url), `error: ${url}: ${NO_ROUTE}; next: check your network or VPN`);
  }
  const proxy = 'http://10.1.2.4:3128';
  for (const [url, name] of [
    ['https://10.1.1.1/x', 'HTTPS_PROXY'],
    ['http://10.1.1.1/x', 'HTTP_PROXY'],
  ] as const) {
    assert.match(
      await create(url, { [name]: proxy }),
      new RegExp(
        `^error: ${url}: .*through the proxy ${proxy}: ${NO_ROUTE}; next: check your network or VPN, and ${name}$`,
      ),
    );
  }
});
