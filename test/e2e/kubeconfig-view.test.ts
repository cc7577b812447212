/** Which cluster and user of a kubeconfig are used, compared with `kubectl config view --minify` over a table. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { loadCredentials } from '../../src/kube/auth/credentials.ts';
import { type AccessOptions, type ClusterAccess, loadAccess } from '../../src/kube/auth/kubeconfig.ts';
import { proxyOf } from '../../src/kube/proxy/proxy.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { type Case, FILES, REFUSED, TABLE, USES } from './kubeconfig-view-cases.ts';

describe('kubeconfigs as kubectl reads them', () => {
  let folder = '';
  let kubectl = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kubeconfig-view-'));
    kubectl = (await ensureBinaries(['kubectl'])).kubectl;
    for (const [name, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const texts = ['deep/ca.crt', 'deep/c.crt', 'c.key', 'deep/t', 'TEXT'];
    for (const name of texts) await writeFile(join(folder, name), name);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const envOf = (files: string[]) => ({
    HOME: folder,
    KUBECONFIG: files.map(file => (file === '' ? '' : join(folder, file))).join(delimiter),
  });

  async function theirs([, files, flags]: Case) {
    const context = flags === undefined ? [] : ['--context', flags.context];
    const args = ['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json', ...context];
    const { stdout } = await promisify(execFile)(kubectl, args, { env: envOf(files) });
    const { clusters, users } = JSON.parse(stdout);
    // `config view` keeps these as they are; other commands do not.
    for (const [section, field] of [
      [users?.[0]?.user, 'tokenFile'],
      [users?.[0]?.user?.exec, 'command'],
    ]) {
      if (section?.[field]?.includes('/')) section[field] = resolve(folder, 'deep', section[field]);
      else if (section?.[field] && field === 'tokenFile') section[field] = join(folder, 'deep', section[field]);
    }
    return { cluster: clusters?.[0], user: users?.[0] };
  }

  const ours = ([, files, flags]: Case) => loadAccess({ env: envOf(files), ...flags } satisfies AccessOptions);

  for (const one of TABLE) {
    test(one[0], async () => {
      const { cluster, user } = await theirs(one);
      const access = ours(one);
      assert.deepEqual(clusterOf(access.cluster), { name: cluster.name, ...cluster.cluster });
      assert.deepEqual(userOf(access.user), user === undefined ? { name: '' } : { name: user.name, ...user.user });
    });
  }

  for (const one of REFUSED) {
    test(`refuses ${one[0]}`, async () => {
      await assert.rejects(theirs(one));
      assert.throws(() => ours(one), { name: 'NodepoolError' });
    });
  }

  for (const [at, [name, user, cluster = '{server: SERVER}']] of USES.entries()) {
    test(`uses ${name}`, async () => {
      const file = join(folder, `use-${at}`);
      const text = `{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: ${cluster}}], users: [{name: a, user: ${user}}]}`;
      // No server listens there.
      await writeFile(file, text.replaceAll('SERVER', '"https://127.0.0.1:1"'));
      const env = { HOME: folder, KUBECONFIG: file };
      const { stderr } = await promisify(execFile)(kubectl, ['get', '--raw', '/x'], { env }).catch(error => error);
      const isUsed = /the connection to the server .* was refused/i.test(stderr);
      assert.equal(isUsed, at === 0, stderr);
      const using = async () => loadCredentials(withProxy(loadAccess({ env })), { env });
      if (isUsed) await using();
      else await assert.rejects(using(), { name: 'NodepoolError' });
    });
  }
});

/** Throws for an invalid proxy-url, as the first connection does. */
function withProxy(access: ClusterAccess): ClusterAccess {
  proxyOf(access.cluster, {});
  return access;
}

/** By the names of the kubeconfig. */
function clusterOf({ name, ...cluster }: ReturnType<typeof loadAccess>['cluster']) {
  const { server, caFile, caData, skipTlsVerify, tlsServerName, proxyUrl, disableCompression, execExtension } = cluster;
  return present({
    name,
    server,
    'certificate-authority-data': flat(caData, caFile),
    'insecure-skip-tls-verify': skipTlsVerify || undefined,
    'tls-server-name': tlsServerName,
    'proxy-url': proxyUrl,
    'disable-compression': disableCompression,
    extensions:
      execExtension === undefined
        ? undefined
        : [{ name: 'client.authentication.k8s.io/exec', extension: execExtension }],
  });
}

function userOf(user: ReturnType<typeof loadAccess>['user']) {
  const { name, token, tokenFile, username, password, as, exec } = user;
  // kubectl fills in defaults of an exec section.
  const filled = { args: null, env: null, provideClusterInfo: false, interactiveMode: 'IfAvailable' };
  return present({
    name,
    'client-certificate-data': flat(user.certData, user.certFile),
    'client-key-data': flat(user.keyData, user.keyFile),
    token,
    tokenFile,
    username,
    password,
    as,
    'as-uid': user.asUid,
    'as-groups': user.asGroups?.length ? user.asGroups : undefined,
    'as-user-extra': user.asUserExtra,
    exec: exec === undefined ? undefined : { ...filled, ...exec },
    'auth-provider': user.authProvider,
  });
}

/** As --flatten does. */
function flat(data: string | undefined, file: string | undefined): string | undefined {
  return data ?? (file === undefined ? undefined : readFileSync(file).toString('base64'));
}

function present(values: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
