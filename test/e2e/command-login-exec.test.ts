/** Exec plugins on a real kube-apiserver, compared with kubectl where possible. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { kubectl } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { answering, EXEC_V1, EXEC_V1BETA1, writeKubeconfig, writePlugin } from './login-files.ts';
import { ASK, good, KUBECTL_ASK, useLogins } from './logins.ts';

const { cluster, admin, user, ask } = useLogins();

describe('an exec plugin', () => {
  test('gives a client certificate, and its stderr is printed', async () => {
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

  test('does not run from the current folder, neither by kubectl nor by the product', async () => {
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
        assert.match(
          stderr,
          /executable my-login not found|through a relative directory \(.*my-login\); next: to use it, write its/,
        );
      }
    }
    assert.equal(existsSync(join(folder, 'ran')), false);
  });

  for (const [name, change, more] of [
    ['nothing', {}, {}],
    ['v1beta1', {}, { apiVersion: EXEC_V1BETA1, interactiveMode: undefined }],
    ['the cluster', {}, { provideClusterInfo: true }],
    [
      'a cluster with all fields',
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
      const reports = async (who: string) => {
        const [info = '', args] = (await readFile(`${command}.${who}`, 'utf8')).split('\n').filter(line => line !== '');
        return { info: JSON.parse(info), args };
      };
      const env = (who: string) => ({ KUBECONFIG: kubeconfig, TOLD: `${command}.${who}` });
      const theirs = await kubectl(cluster(), KUBECTL_ASK, { env: env('kubectl') });
      assert.equal(theirs.code, 0, theirs.stderr);
      good(await ask(kubeconfig, env('us')));
      assert.deepEqual(await reports('us'), await reports('kubectl'));
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
