/** Proxies, server names and impersonation on a real kube-apiserver, compared with kubectl where possible. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { auditLines } from '../cluster/audit.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { httpProxy, type ProxyBehaviour, socksProxy, type TestProxy } from '../cluster/proxies.ts';
import { answering, writeKubeconfig, writePlugin } from './login-files.ts';
import { good, KUBECTL_ASK, useLogins } from './logins.ts';

const { cluster, admin, user, ask } = useLogins();

describe('through a proxy', () => {
  const port = (plane: ControlPlane) => Number(new URL(plane.server).port);
  /** A server that is reachable through the proxy only, as its name does not resolve. */
  const FAR = { server: 'https://api.invalid:6443', 'tls-server-name': 'localhost' };
  const asAdmin = () => {
    const { clientCertificateData, clientKeyData } = admin();
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    return { 'client-certificate-data': base64(clientCertificateData), 'client-key-data': base64(clientKeyData) };
  };
  const kinds: [name: string, make: (t: TestContext, behaviour: ProxyBehaviour) => Promise<TestProxy>][] = [
    ['http', httpProxy],
    ['socks5', socksProxy],
  ];
  for (const [scheme, make] of kinds) {
    test(`uses HTTPS_PROXY and proxy-url with a login: ${scheme}`, async t => {
      const proxy = await make(t, { port: port(cluster()), login: 'me:p@ss' });
      const url = `${scheme}://me:p%40ss@${proxy.address}`;
      good(await ask(await writeKubeconfig(cluster(), asAdmin(), FAR), { HTTPS_PROXY: url }));
      good(await ask(await writeKubeconfig(cluster(), asAdmin(), { ...FAR, 'proxy-url': url })));
      const reports = `${scheme === 'http' ? 'CONNECT ' : ''}api.invalid:6443 as me:p@ss`;
      assert.deepEqual([...new Set(proxy.asked)], [reports]);
    });
  }

  test('NO_PROXY and loopback addresses bypass HTTPS_PROXY, but not proxy-url', async t => {
    const proxy = await httpProxy(t, { port: port(cluster()) });
    const url = `http://${proxy.address}`;
    const far = await ask(await writeKubeconfig(cluster(), asAdmin(), FAR), {
      HTTPS_PROXY: url,
      NO_PROXY: '.invalid',
    });
    assert.match(far.stderr, /the name api\.invalid cannot be resolved/);
    good(await ask(await writeKubeconfig(cluster(), asAdmin()), { HTTPS_PROXY: url }));
    assert.deepEqual(proxy.asked, []);
    good(await ask(await writeKubeconfig(cluster(), asAdmin(), { 'proxy-url': url })));
    assert.ok(proxy.asked.length > 0);
  });

  test('reports a refusal by the proxy with its response', async t => {
    const proxy = await httpProxy(t, { port: port(cluster()), login: 'me:right' });
    const kubeconfig = await writeKubeconfig(cluster(), asAdmin(), {
      ...FAR,
      'proxy-url': `http://${proxy.address}`,
    });
    const { code, stderr } = await ask(kubeconfig);
    assert.equal(code, 1);
    assert.match(stderr, /api\.invalid:6443 through the proxy http:\/\/127.*407 Proxy Auth.*proxy-url of cluster "c"/s);
  });
});

test('a server with a CA that the system trusts needs no certificate-authority', async () => {
  const command = await writePlugin(cluster(), await answering(cluster(), admin()));
  const kubeconfig = await writeKubeconfig(cluster(), user(command), { 'certificate-authority-data': undefined });
  const ca = join(cluster().dir, 'known.crt');
  await writeFile(ca, cluster().ca);
  good(await ask(kubeconfig, { SSL_CERT_FILE: ca }));
  const { code, stderr } = await ask(kubeconfig);
  assert.equal(code, 1);
  assert.match(stderr, /is signed by an unknown authority/);
});

test('tls-server-name may be an IP address, as for kubectl', async () => {
  const command = await writePlugin(cluster(), await answering(cluster(), admin()));
  const server = cluster().server.replace('127.0.0.1', 'localhost');
  for (const [name, isRight] of [
    ['127.0.0.1', true],
    ['192.0.2.1', false],
  ] as const) {
    const kubeconfig = await writeKubeconfig(cluster(), user(command), { server, 'tls-server-name': name });
    const theirs = await kubectl(cluster(), KUBECTL_ASK, { env: { KUBECONFIG: kubeconfig } });
    assert.equal(theirs.code === 0, isRight, theirs.stderr);
    const { stderr } = await ask(kubeconfig);
    if (isRight) assert.equal(stderr, 'No pools found.\n');
    else assert.match(stderr, /is not valid for the name 192\.0\.2\.1; next: .*tls-server-name/);
  }
});

test('impersonation sends user, UID, groups and extras as kubectl does', async () => {
  const flags = [
    '--as=aliçe-群',
    '--as-uid=u-7',
    '--as-group=g',
    '--as-group=h',
    '--as-user-extra=scopes=a',
    '--as-user-extra=x.y/z=%é',
  ];
  await cli(cluster(), ['get', ...flags]);
  await kubectl(cluster(), ['get', 'nodes', ...flags]);
  const events = (await auditLines(cluster())).filter(line => line.includes('aliçe'));
  const seen = (agent: RegExp) =>
    events.map(line => JSON.parse(line)).find(({ userAgent }) => agent.test(userAgent))?.impersonatedUser;
  const ours = seen(/^kubectl-nodepool/);
  assert.deepEqual(ours, {
    username: 'aliçe-群',
    uid: 'u-7',
    groups: ['g', 'h', 'system:authenticated'],
    extra: { scopes: ['a'], 'x.y/z': ['%é'] },
  });
  assert.deepEqual(ours, seen(/^kubectl\//));
});
