import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { type AccessOptions, loadAccess } from '../../../src/kube/kubeconfig.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kubeconfig-'));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A file with a cluster, a user and a context of each name; servers are `https://<file>-<name>`. */
function config(name: string, names: string[], current?: string): string {
  const list = (member: string, body: (one: string) => object) =>
    names.map(one => ({ name: one, [member]: body(one) }));
  return write(
    name,
    JSON.stringify({
      'current-context': current,
      clusters: list('cluster', one => ({ server: `https://${name}-${one}` })),
      users: list('user', one => ({ token: `${name}-${one}` })),
      contexts: list('context', one => ({ cluster: one, user: one })),
    }),
  );
}

const one = config('one', ['a', 'b'], 'a');
const two = config('two', ['b', 'c'], 'c');
const noCurrent = config('no-current', ['a']);

function failure(options: AccessOptions): string {
  try {
    loadAccess(options);
  } catch (error) {
    assert.ok(error instanceof NodepoolError, String(error));
    return `${error.message}; next: ${error.next}`;
  }
  return assert.fail('it was accepted');
}

describe('which cluster and user', () => {
  const list = (...files: string[]) => ({ KUBECONFIG: files.join(path.delimiter) });
  const missing = path.join(folder, 'missing');
  const table: [string, AccessOptions, string, string][] = [
    ['the flag', { kubeconfig: one, env: {} }, 'one-a', 'one-a'],
    ['the flag goes before the variable', { kubeconfig: one, env: list(two) }, 'one-a', 'one-a'],
    ['the first current context of a list', { env: list(two, one) }, 'two-c', 'two-c'],
    ['a later current context when the first has none', { env: list(noCurrent, two) }, 'two-c', 'two-c'],
    ['the first cluster and user of a name', { env: list(one, two), context: 'b' }, 'one-b', 'one-b'],
    ['the other order, the other one', { env: list(two, one), context: 'b' }, 'two-b', 'two-b'],
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

  test('~/.kube/config when nothing else is named', () => {
    config('home/.kube/config', ['h'], 'h');
    assert.equal(loadAccess({ env: { HOME: path.join(folder, 'home') } }).user.token, 'home/.kube/config-h');
  });

  test('impersonation, by flag over the file', () => {
    assert.equal(loadAccess({ kubeconfig: one, env: {}, as: 'x' }).user.as, 'x');
    assert.deepEqual(loadAccess({ kubeconfig: one, env: {}, as: 'x', asGroup: ['g', 'h'] }).user.asGroups, ['g', 'h']);
    assert.equal(
      failure({ kubeconfig: one, env: {}, asGroup: ['g'] }),
      '--as-group needs a user to impersonate; next: add --as USER',
    );
  });

  test('all that can be impersonated; extras of the flags are joined with those of the file', () => {
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

  test('an address without a scheme is plain HTTP', () => {
    const file = write(
      'plain',
      '{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "localhost:8080"}}]}',
    );
    assert.equal(loadAccess({ kubeconfig: file, env: {} }).cluster.server, 'http://localhost:8080');
  });

  test('anchors and merge keys, as kubectl reads them; a byte order mark; documents after the first', () => {
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

  test('paths are relative to their own file', () => {
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

describe('what is wrong with it', () => {
  const missing = path.join(folder, 'nowhere');
  const bad = write('bad', 'clusters:\n- name: a\n  cluster: {server: "https://a"\nusers: []\n');
  const list = write('list', '- a\n');
  const shape = write('shape', 'clusters:\n- cluster: {}\n');
  const address = write(
    'address',
    '{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "ftp://a:6443"}}]}',
  );
  const named = (name: string, cluster: string, user = '{}') =>
    write(
      name,
      `{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: ${cluster}}], users: [{name: a, user: ${user}}]}`,
    );
  const server = '{server: "https://a"}';
  const bothTrusts = named('both', '{server: "https://a", certificate-authority: x, insecure-skip-tls-verify: true}');
  const bothAuthorities = named(
    'both-authorities',
    '{server: "https://a", certificate-authority: x, certificate-authority-data: eA==}',
  );
  const login = named('login', '{server: "https://joe:secret@a:6443"}');
  const plainLogin = named('plain-login', '{server: "joe:secret@a:6443"}');
  const oddLogin = named('odd-login', '{server: "https://joe:sec/ret@a:6443"}');
  const deployment = write('deployment', '{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}');
  const version = write('version', '{apiVersion: v2, kind: Config}');
  const deep = write('nested', `a: ${'['.repeat(20_000)}`);
  const number = named('number', server, '{password: 1234}');
  const twice = write('twice', '{clusters: [{name: a, cluster: {}}, {name: b}, {name: a, cluster: {}}]}');
  const groups = named('groups', server, '{as-groups: [g]}');
  const noGroups = named('no-groups', server, '{as: x, as-groups: g}');
  const dangling = write('dangling', '{current-context: a, contexts: [{name: a, context: {cluster: x, user: y}}]}');
  const empty = write('empty', '');
  const correct = 'correct the file or choose another with --kubeconfig';
  const table: [string, AccessOptions, string | RegExp][] = [
    [
      'the flag names no file',
      { kubeconfig: missing, env: {} },
      `--kubeconfig: there is no file ${missing}; next: check the path`,
    ],
    [
      'nothing anywhere',
      { env: { HOME: missing } },
      `no kubeconfig found (looked at ${path.join(missing, '.kube', 'config')}; not inside a cluster); next: name one with --kubeconfig FILE or the variable KUBECONFIG`,
    ],
    [
      'a list of nothing',
      { env: { KUBECONFIG: `${missing}${path.delimiter}${missing}2` } },
      `no kubeconfig found (looked at ${missing}, ${missing}2; not inside a cluster); next: name one with --kubeconfig FILE or the variable KUBECONFIG`,
    ],
    ['no home', { env: {} }, /^no kubeconfig found \(no HOME to look in; not inside a cluster\)/],
    ['an empty file', { env: { KUBECONFIG: empty } }, new RegExp(`^no kubeconfig found \\(looked at ${empty};`)],
    [
      '--context',
      { kubeconfig: one, env: {}, context: 'z' },
      `--context: "z" is not in ${one}; next: choose one of its contexts with --context: a, b`,
    ],
    [
      '--cluster',
      { kubeconfig: one, env: {}, cluster: 'z' },
      `--cluster: "z" is not in ${one}; next: choose one of its clusters with --cluster: a, b`,
    ],
    [
      '--user',
      { kubeconfig: one, env: {}, user: 'z' },
      `--user: "z" is not in ${one}; next: choose one of its users with --user: a, b`,
    ],
    [
      'no current context',
      { kubeconfig: noCurrent, env: {} },
      `no current context is set in ${noCurrent}; next: choose one of its contexts with --context: a`,
    ],
    [
      'a context of nothing',
      { kubeconfig: dangling, env: {} },
      `the cluster "x" of context "a" is not in ${dangling}, which has no clusters; next: choose another file with --kubeconfig`,
    ],
    [
      'YAML',
      { kubeconfig: bad, env: {} },
      new RegExp(`^the kubeconfig ${bad} is malformed: line [345]: .*; next: ${correct}$`),
    ],
    [
      'a list',
      { kubeconfig: list, env: {} },
      `the kubeconfig ${list} is malformed: it is not a mapping; next: ${correct}`,
    ],
    [
      'a shape',
      { kubeconfig: shape, env: {} },
      `the kubeconfig ${shape} is malformed: clusters[0].name is missing; next: ${correct}`,
    ],
    [
      'an address',
      { kubeconfig: address, env: {} },
      `the server "ftp://a:6443" of cluster "a" in ${address} is not an address; next: write it like https://host:6443`,
    ],
    [
      'two ways to trust the server',
      { kubeconfig: bothTrusts, env: {} },
      `cluster "a" in ${bothTrusts} has both certificate-authority and insecure-skip-tls-verify; next: keep one of the two`,
    ],
    [
      'two authorities',
      { kubeconfig: bothAuthorities, env: {} },
      `cluster "a" in ${bothAuthorities} has both certificate-authority and certificate-authority-data; next: keep one of the two`,
    ],
    [
      'a login in the address, which is not shown',
      { kubeconfig: login, env: {} },
      `the server of cluster "a" in ${login} has a login in its address; next: write that as username and password of the user`,
    ],
    [
      'the same without a scheme',
      { kubeconfig: plainLogin, env: {} },
      `the server of cluster "a" in ${plainLogin} has a login in its address; next: write that as username and password of the user`,
    ],
    [
      'the same, and it is no address',
      { kubeconfig: oddLogin, env: {} },
      `the server "https://a:6443" of cluster "a" in ${oddLogin} is not an address; next: write it like https://host:6443`,
    ],
    [
      'another kind',
      { kubeconfig: deployment, env: {} },
      `the kubeconfig ${deployment} is malformed: it is a Deployment of apps/v1, and not a Config of v1; next: ${correct}`,
    ],
    [
      'another version',
      { kubeconfig: version, env: {} },
      `the kubeconfig ${version} is malformed: it is a Config of v2, and not a Config of v1; next: ${correct}`,
    ],
    [
      'what the parser gives up on',
      { kubeconfig: deep, env: {} },
      new RegExp(`^the kubeconfig ${deep} is malformed: .*; next: ${correct}$`),
    ],
    [
      'a number for a text',
      { kubeconfig: number, env: {} },
      `the kubeconfig ${number} is malformed: users[0].user.password is not a string; next: ${correct}`,
    ],
    [
      'a text for a list',
      { kubeconfig: noGroups, env: {} },
      `the kubeconfig ${noGroups} is malformed: users[0].user.as-groups is not a list of strings; next: ${correct}`,
    ],
    [
      'a name twice in a file',
      { kubeconfig: twice, env: {} },
      `the kubeconfig ${twice} is malformed: clusters has the name "a" twice; next: ${correct}`,
    ],
    [
      'groups without a user',
      { kubeconfig: groups, env: {} },
      'user "a" in the kubeconfig has as-groups and no user to impersonate; next: add `as` to it, or --as USER',
    ],
    [
      '--as-uid alone',
      { kubeconfig: one, env: {}, asUid: '1' },
      '--as-uid needs a user to impersonate; next: add --as USER',
    ],
    [
      '--as-user-extra without a value',
      { kubeconfig: one, env: {}, as: 'x', asUserExtra: ['scopes'] },
      '--as-user-extra "scopes" is not KEY=VALUE; next: undefined',
    ],
    [
      'a folder',
      { kubeconfig: folder, env: {} },
      /^cannot read the kubeconfig .*: it is a directory; next: choose another with --kubeconfig$/,
    ],
  ];
  for (const [name, options, message] of table) {
    test(name, () => {
      if (typeof message === 'string') assert.equal(failure(options), message);
      else assert.match(failure(options), message);
    });
  }
});
