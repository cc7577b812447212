import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { type AccessOptions, loadAccess } from '../../../../src/kube/auth/kubeconfig.ts';
import { config, failure, folder, noCurrent, one, two, write } from './kubeconfig-files.ts';

describe('chooses cluster and user', () => {
  const list = (...files: string[]) => ({ KUBECONFIG: files.join(path.delimiter) });
  const missing = path.join(folder, 'missing');
  const table: [string, AccessOptions, string, string][] = [
    ['the flag', { kubeconfig: one, env: {} }, 'one-a', 'one-a'],
    ['--kubeconfig takes precedence over KUBECONFIG', { kubeconfig: one, env: list(two) }, 'one-a', 'one-a'],
    ['the first current-context of a list', { env: list(two, one) }, 'two-c', 'two-c'],
    ['a later current-context if the first file has none', { env: list(noCurrent, two) }, 'two-c', 'two-c'],
    ['the first cluster and user with a name', { env: list(one, two), context: 'b' }, 'one-b', 'one-b'],
    [
      'the first cluster and user with a name, in reverse order',
      { env: list(two, one), context: 'b' },
      'two-b',
      'two-b',
    ],
    ['a file named twice', { env: list(one, one) }, 'one-a', 'one-a'],
    ['missing files of a list are skipped', { env: list(missing, two) }, 'two-c', 'two-c'],
    ['--context', { env: list(one), context: 'b' }, 'one-b', 'one-b'],
    ['--cluster and --user over the context', { env: list(one, two), cluster: 'c', user: 'b' }, 'two-c', 'one-b'],
    ['--cluster without a context', { env: list(noCurrent), cluster: 'a', user: 'a' }, 'no-current-a', 'no-current-a'],
  ];
  for (const [name, options, server, token] of table) {
    test(name, () => {
      const { cluster, user } = loadAccess(options);
      assert.equal(cluster.server, `https://${server}`);
      assert.equal(user.token, token);
    });
  }

  test('reads ~/.kube/config by default', () => {
    config('home/.kube/config', ['h'], 'h');
    assert.equal(loadAccess({ env: { HOME: path.join(folder, 'home') } }).user.token, 'home/.kube/config-h');
  });

  test('an impersonation flag overrides the file', () => {
    assert.equal(loadAccess({ kubeconfig: one, env: {}, as: 'x' }).user.as, 'x');
    assert.deepEqual(loadAccess({ kubeconfig: one, env: {}, as: 'x', asGroup: ['g', 'h'] }).user.asGroups, ['g', 'h']);
    assert.equal(
      failure({ kubeconfig: one, env: {}, asGroup: ['g'] }),
      '--as-group needs a user to impersonate; next: add --as USER',
    );
  });

  test('connection flags override fields of the cluster', () => {
    const file = write(
      'flags',
      `{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
        clusters: [{name: a, cluster: {server: "https://a", certificate-authority: ca.pem, tls-server-name: a.example}}],
        users: [{name: a, user: {client-certificate-data: eA==, client-key: key.pem, exec: {command: x}}}]}`,
    );
    const access = (options: Partial<AccessOptions>) => loadAccess({ kubeconfig: file, env: {}, ...options });
    const [ca, key] = [path.join(folder, 'ca.pem'), path.join(folder, 'key.pem')];
    const trust = (options: Partial<AccessOptions>) => {
      const { server, caFile, skipTlsVerify, tlsServerName, disableCompression } = access(options).cluster;
      return { server, caFile, skipTlsVerify, tlsServerName, disableCompression };
    };
    const inFile = {
      server: 'https://a',
      caFile: ca,
      skipTlsVerify: false,
      tlsServerName: 'a.example',
      disableCompression: undefined,
    };
    assert.deepEqual(trust({}), inFile);
    // The name in the file belongs to the server in the file.
    assert.deepEqual(trust({ server: 'https://b' }), { ...inFile, server: 'https://b', tlsServerName: undefined });
    assert.equal(trust({ server: 'https://b', tlsServerName: 'b' }).tlsServerName, 'b');
    assert.equal(trust({ certificateAuthority: 'mine.pem' }).caFile, 'mine.pem');
    assert.deepEqual(trust({ insecureSkipTlsVerify: true }), { ...inFile, caFile: undefined, skipTlsVerify: true });
    assert.equal(trust({ disableCompression: true }).disableCompression, true);

    const { user } = access({ token: 't' });
    assert.deepEqual([user.token, user.exec, user.certData], ['t', undefined, 'eA==']);
    const own = access({ clientCertificate: '/c', clientKey: '/k' }).user;
    assert.deepEqual([own.certFile, own.certData, own.keyFile], ['/c', undefined, '/k']);
    assert.equal(access({ clientCertificate: '/c' }).user.keyFile, key);
  });

  test('--server needs no kubeconfig', () => {
    const { cluster, user } = loadAccess({ env: {}, server: 'https://b', token: 't' });
    assert.deepEqual([cluster.server, user.token], ['https://b', 't']);
  });

  test('credential flags replace a missing user of the context, --user does not', () => {
    const context = '{name: a, context: {cluster: a, user: gone}}';
    const clusters = '[{name: a, cluster: {server: "https://a"}}]';
    const file = write('gone', `{current-context: a, contexts: [${context}], clusters: ${clusters}}`);
    const options = { kubeconfig: file, env: {} };
    assert.equal(loadAccess({ ...options, token: 't' }).user.token, 't');
    assert.equal(loadAccess({ ...options, clientCertificate: '/c', clientKey: '/k' }).user.name, 'gone');
    assert.match(failure(options), /^the user "gone" of context "a" is not in /);
    assert.match(failure({ ...options, token: 't', user: 'gone' }), /^--user: "gone" is not in /);
  });

  test('refuses an empty connection flag, and two that cannot be used together', () => {
    assert.equal(
      failure({ kubeconfig: one, env: {}, token: '' }),
      '--token: the value is empty; next: check for an unset shell variable',
    );
    assert.match(
      failure({ kubeconfig: one, env: {}, insecureSkipTlsVerify: true, certificateAuthority: 'x' }),
      /^--certificate-authority and --insecure-skip-tls-verify cannot be used together/,
    );
  });

  test('impersonates user, UID, groups and extras; extras of flags are merged with those of the file', () => {
    const file = write(
      'as',
      `{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: "https://a"}}],
        users: [{name: a, user: {as: x, as-uid: "1", as-groups: [g], as-user-extra: {k: [v], l: [w]}}}]}`,
    );
    const picked = (options: Partial<AccessOptions>) => {
      const { as, asUid, asGroups, asUserExtra } = loadAccess({ kubeconfig: file, env: {}, ...options }).user;
      return { as, asUid, asGroups, asUserExtra };
    };
    const inFile = { as: 'x', asUid: '1', asGroups: ['g'], asUserExtra: { k: ['v'], l: ['w'] } };
    assert.deepEqual(picked({}), inFile);
    assert.deepEqual(picked({ asUid: '2', asUserExtra: ['k=a', 'm=b=c', 'k=d'] }), {
      ...inFile,
      asUid: '2',
      asUserExtra: { k: ['a', 'd'], l: ['w'], m: ['b=c'] },
    });
  });

  test('reads an address without a scheme as plain HTTP', () => {
    const file = write(
      'plain',
      '{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "localhost:8080"}}]}',
    );
    assert.equal(loadAccess({ kubeconfig: file, env: {} }).cluster.server, 'http://localhost:8080');
  });

  test('reads anchors and merge keys as kubectl does, without byte order mark and later documents', () => {
    const file = write(
      'anchors',
      `\uFEFFcurrent-context: a
contexts: [{name: a, context: {cluster: a, user: b}}]
clusters: [{name: a, cluster: {server: "https://a"}}]
users: [{name: a, user: &base {token: t, as: x}}, {name: b, user: {<<: *base, as: z}}]
---
other: document
`,
    );
    const { token, as } = loadAccess({ kubeconfig: file, env: {} }).user;
    assert.deepEqual([token, as], ['t', 'z']);
  });

  test('resolves paths relative to their file', () => {
    const file = write(
      'deep/config',
      `
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://c/", certificate-authority: ca.pem, proxy-url: "http://p:1"}}]
users:
- name: u
  user: {client-certificate: ../cert.pem, client-key: /abs/key.pem, tokenFile: t, exec: {command: ./bin/login}}
- name: v
  user: {exec: {command: login}}
`,
    );
    const { cluster, user } = loadAccess({ env: { KUBECONFIG: `${one}${path.delimiter}${file}` }, context: 'c' });
    assert.deepEqual(cluster, {
      name: 'c',
      server: 'https://c/',
      caFile: path.join(folder, 'deep', 'ca.pem'),
      skipTlsVerify: false,
      proxyUrl: 'http://p:1',
    });
    assert.equal(user.certFile, path.join(folder, 'cert.pem'));
    assert.equal(user.keyFile, '/abs/key.pem');
    assert.equal(user.tokenFile, path.join(folder, 'deep', 't'));
    assert.equal(user.exec?.command, path.join(folder, 'deep', 'bin', 'login'));
    assert.equal(loadAccess({ kubeconfig: file, env: {}, user: 'v' }).user.exec?.command, 'login');
  });
});
