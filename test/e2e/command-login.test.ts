/** The logins of kubectl on a real kube-apiserver: exec plugins, policies and proxies, compared with kubectl where possible. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { auditLines } from '../cluster/audit.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { clientCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cli, kubectl, useCluster } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { httpProxy, type ProxyBehaviour, socksProxy, type TestProxy } from '../cluster/proxies.ts';
import { type RunResult, run } from '../cluster/run.ts';
import { answering, EXEC_V1, EXEC_V1BETA1, writeKubeconfig, writePlugin } from './login-files.ts';

/** Needs a login; every login of these tests permits it. */
const ASK = ['get'];
const KUBECTL_ASK = ['get', '--raw', '/api'];

describe('logins', () => {
  const cluster = useCluster({ audit: true, crd: true });

  const admin = () => {
    const { cert, key } = clientCertificate(cluster().authority, 'plugin-user', ['system:masters'], {});
    return { clientCertificateData: cert, clientKeyData: key };
  };
  const user = (command: string, more: object = {}) => ({
    exec: { apiVersion: EXEC_V1, command, interactiveMode: 'Never', ...more },
  });
  const ask = (kubeconfig: string, env: Record<string, string> = {}) =>
    cli(cluster(), ASK, { env: { KUBECONFIG: kubeconfig, ...env } });
  const good = ({ code, stderr }: RunResult) => assert.equal(code, 0, stderr);

  describe('an exec plugin', () => {
    test('gives a client certificate, and its stderr is shown', async () => {
      const command = await writePlugin(
        cluster(),
        `echo 'Opening the browser' >&2; ${await answering(cluster(), admin())}`,
      );
      const result = await ask(await writeKubeconfig(cluster(), user(command)));
      good(result);
      assert.match(result.stderr, /^Opening the browser\n/);
    });

    test('gives a token of a service account', async () => {
      const made = await kubectl(cluster(), ['create', 'serviceaccount', 'robot']);
      assert.equal(made.code, 0, made.stderr);
      const { stdout } = await kubectl(cluster(), ['create', 'token', 'robot']);
      const command = await writePlugin(cluster(), await answering(cluster(), { token: stdout.trim() }));
      const denied = await ask(await writeKubeconfig(cluster(), user(command)));
      assert.match(denied.stderr, /system:serviceaccount:default:robot/);
    });

    test('that fails is reported with its exit code after its own stderr', async () => {
      const command = await writePlugin(cluster(), 'echo "session expired" >&2; exit 7');
      const { code, stdout, stderr } = await ask(await writeKubeconfig(cluster(), user(command)));
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^session expired\n.*gave no credentials for user "u": it failed with exit code 7/);
    });

    test('that is not installed is reported with its installHint', async () => {
      const kubeconfig = await writeKubeconfig(cluster(), user('no-such-plugin', { installHint: 'Get it from x.y' }));
      const { code, stderr } = await ask(kubeconfig);
      assert.equal(code, 1);
      assert.match(stderr, /no-such-plugin gave no credentials.*it is not in PATH.*Get it from x\.y/s);
    });

    test('is found relative to the kubeconfig', async () => {
      const answer = await answering(cluster(), admin());
      await mkdir(join(cluster().dir, 'tools'), { recursive: true });
      await writeFile(join(cluster().dir, 'tools', 'login'), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
      good(await ask(await writeKubeconfig(cluster(), user('tools/login'))));
    });

    test('is run from the current folder neither by kubectl nor by the product', async () => {
      const answer = await answering(cluster(), admin());
      const folder = join(cluster().dir, 'current');
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'my-login'), `#!/bin/sh\ntouch ran\n${answer}\n`, { mode: 0o755 });
      const env = { HOME: folder, KUBECONFIG: await writeKubeconfig(cluster(), user('my-login')) };
      const [program, ...first] = productCommand();
      const { kubectl: theirs } = await ensureBinaries(['kubectl']);
      for (const PATH of [`.:${process.env.PATH}`, `:${process.env.PATH}`, `../current:${process.env.PATH}`]) {
        for (const [command, args] of [
          [theirs, KUBECTL_ASK],
          [program, [...first, ...ASK]],
        ] as const) {
          const options = { cwd: folder, env: { ...process.env, ...env, PATH } };
          const { code, stderr } = await run(command, args, options);
          assert.equal(code, 1, stderr);
          assert.match(stderr, /executable my-login not found|by a relative folder, as .*my-login; next: write its/);
        }
      }
      assert.equal(existsSync(join(folder, 'ran')), false);
    });

    for (const [name, change, more] of [
      ['nothing', {}, {}],
      ['v1beta1', {}, { apiVersion: EXEC_V1BETA1, interactiveMode: undefined }],
      ['the cluster', {}, { provideClusterInfo: true }],
      [
        'a cluster with all there is',
        {
          'tls-server-name': 'localhost',
          'disable-compression': true,
          extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a', list: [1, null] } }],
        },
        { provideClusterInfo: true, args: ['a', 'b c'], env: [{ name: 'LOGIN_X', value: 'y' }] },
      ],
    ] as const) {
      test(`gets the same input from kubectl and the product: ${name}`, async () => {
        const apiVersion = 'apiVersion' in more ? more.apiVersion : EXEC_V1;
        const answer = await answering(cluster(), admin(), apiVersion);
        const command = await writePlugin(
          cluster(),
          `{ echo "$KUBERNETES_EXEC_INFO"; echo "$@ $LOGIN_X"; } > "$TOLD"; ${answer}`,
        );
        const kubeconfig = await writeKubeconfig(cluster(), user(command, more), change);
        const told = async (who: string) => {
          const [info = '', args] = (await readFile(`${command}.${who}`, 'utf8'))
            .split('\n')
            .filter(line => line !== '');
          return { info: JSON.parse(info), args };
        };
        const env = (who: string) => ({ KUBECONFIG: kubeconfig, TOLD: `${command}.${who}` });
        const theirs = await kubectl(cluster(), KUBECTL_ASK, { env: env('kubectl') });
        assert.equal(theirs.code, 0, theirs.stderr);
        good(await ask(kubeconfig, env('us')));
        assert.deepEqual(await told('us'), await told('kubectl'));
      });
    }

    test('that hangs and ignores SIGINT is killed when the product ends', async () => {
      const command = await writePlugin(
        cluster(),
        `trap '' INT; echo $$ > "$0.tmp"; mv "$0.tmp" "$0.pid"; while :; do sleep 0.2; done`,
      );
      const kubeconfig = await writeKubeconfig(cluster(), user(command));
      const [program, ...first] = productCommand();
      const child = spawn(program, [...first, 'get'], {
        env: { ...process.env, KUBECONFIG: kubeconfig },
        stdio: 'ignore',
      });
      const ended = new Promise<[number | null, string | null]>(resolve =>
        child.on('exit', (code, signal) => resolve([code, signal])),
      );
      const pid = Number(await eventually(() => readFile(`${command}.pid`, 'utf8')));
      child.kill('SIGINT');
      assert.deepEqual(await ended, [null, 'SIGINT']);
      await eventually(async () => {
        try {
          process.kill(pid, 0);
        } catch {
          return 'gone';
        }
        throw new Error('the plugin lives on');
      });
    });
  });

  describe('kuberc', () => {
    const entries = (...commands: string[]) => commands.map(command => ({ command }));
    const table: [name: string, spec: object, allowed: boolean][] = [
      ['no policy', {}, true],
      ['AllowAll', { credentialPluginPolicy: 'AllowAll' }, true],
      ['DenyAll', { credentialPluginPolicy: 'DenyAll' }, false],
      ['its path', { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: entries('PLUGIN') }, true],
      [
        'its name, not in PATH',
        { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: entries('NAME') },
        false,
      ],
      ['another', { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: entries('x', 'y') }, false],
      ['no list', { credentialPluginPolicy: 'Allowlist' }, false],
      ['an empty list', { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [] }, false],
      [
        'a list for AllowAll',
        { credentialPluginPolicy: 'AllowAll', credentialPluginAllowlist: entries('PLUGIN') },
        false,
      ],
      ['an unknown policy', { credentialPluginPolicy: 'Sometimes' }, false],
      ['not a preference', { kind: 'Other' }, false],
    ];
    test('is read as by kubectl when another document of the file is invalid', async () => {
      const command = await writePlugin(cluster(), await answering(cluster(), admin()));
      const kubeconfig = await writeKubeconfig(cluster(), user(command));
      const head = 'apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference';
      const file = `${kubeconfig}.kuberc`;
      for (const text of [
        `a: [\n---\n${head}\ncredentialPluginPolicy: DenyAll\n`,
        `# mine\n--- # first\n${head}\ncredentialPluginPolicy: DenyAll\n---\na: [\n`,
      ]) {
        await writeFile(file, text);
        const env = { KUBECONFIG: kubeconfig, KUBERC: file };
        const theirs = await kubectl(cluster(), KUBECTL_ASK, { env });
        assert.match(theirs.stderr, /DenyAll/);
        assert.match((await ask(kubeconfig, env)).stderr, /credentialPluginPolicy is DenyAll/);
      }
    });

    for (const [name, spec, allowed] of table) {
      test(`is applied as by kubectl: ${name}`, async () => {
        const command = await writePlugin(cluster(), await answering(cluster(), admin()));
        const kubeconfig = await writeKubeconfig(cluster(), user(command));
        const head = { apiVersion: 'kubectl.config.k8s.io/v1beta1', kind: 'Preference' };
        const text = JSON.stringify({ ...head, ...spec })
          .replaceAll('PLUGIN', command)
          .replaceAll('NAME', command.replace(/.*\//, ''));
        const file = `${kubeconfig}.kuberc`;
        await writeFile(file, text);
        const env = { KUBECONFIG: kubeconfig, KUBERC: file };
        const theirs = await kubectl(cluster(), KUBECTL_ASK, { env });
        assert.equal(theirs.code === 0, allowed, `kubectl: ${theirs.stderr}`);
        const ours = await ask(kubeconfig, env);
        assert.equal(ours.code === 0, allowed, ours.stderr);
      });
    }
  });

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
        const told = `${scheme === 'http' ? 'CONNECT ' : ''}api.invalid:6443 as me:p@ss`;
        assert.deepEqual([...new Set(proxy.asked)], [told]);
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

    test('a proxy that refuses is reported with its answer', async t => {
      const proxy = await httpProxy(t, { port: port(cluster()), login: 'me:right' });
      const kubeconfig = await writeKubeconfig(cluster(), asAdmin(), {
        ...FAR,
        'proxy-url': `http://${proxy.address}`,
      });
      const { code, stderr } = await ask(kubeconfig);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /api\.invalid:6443 through the proxy http:\/\/127.*407 Proxy Auth.*proxy-url of cluster "c"/s,
      );
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
      else assert.match(stderr, /is not for the name 192\.0\.2\.1; next: .*tls-server-name/);
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
});

/** Retries until it resolves; throws its last error after 10 s. */
async function eventually<T>(look: () => Promise<T>): Promise<T> {
  const ends = performance.now() + 10_000;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > ends) throw error;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }
}
