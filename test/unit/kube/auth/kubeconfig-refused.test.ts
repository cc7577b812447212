import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { AccessOptions } from '../../../../src/kube/auth/kubeconfig.ts';
import { failure, folder, noCurrent, one, write } from './kubeconfig-files.ts';

describe('refuses an invalid kubeconfig', () => {
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
  const correct = 'correct the file or use another file with --kubeconfig';
  const table: [string, AccessOptions, string | RegExp][] = [
    [
      'the flag names no file',
      { kubeconfig: missing, env: {} },
      `--kubeconfig: no such file: ${missing}; next: check the path`,
    ],
    [
      'no kubeconfig anywhere',
      { env: { HOME: missing } },
      `no kubeconfig found (looked at ${path.join(missing, '.kube', 'config')}; not inside a cluster); next: use --kubeconfig FILE, or set KUBECONFIG`,
    ],
    [
      'a KUBECONFIG list of missing files',
      { env: { KUBECONFIG: `${missing}${path.delimiter}${missing}2` } },
      `no kubeconfig found (looked at ${missing}, ${missing}2; not inside a cluster); next: use --kubeconfig FILE, or set KUBECONFIG`,
    ],
    [
      'an empty KUBECONFIG list',
      { env: { KUBECONFIG: ':', HOME: '/x' } },
      /^no kubeconfig found \(KUBECONFIG contains no file name; not inside/,
    ],
    ['no home', { env: {} }, /^no kubeconfig found \(HOME is not set; not inside a cluster\)/],
    ['an empty file', { env: { KUBECONFIG: empty } }, new RegExp(`^no kubeconfig found \\(looked at ${empty};`)],
    [
      '--context',
      { kubeconfig: one, env: {}, context: 'z' },
      `--context: "z" is not in ${one}; next: use one of its contexts with --context: a, b`,
    ],
    [
      '--cluster',
      { kubeconfig: one, env: {}, cluster: 'z' },
      `--cluster: "z" is not in ${one}; next: use one of its clusters with --cluster: a, b`,
    ],
    [
      '--user',
      { kubeconfig: one, env: {}, user: 'z' },
      `--user: "z" is not in ${one}; next: use one of its users with --user: a, b`,
    ],
    [
      'no current context',
      { kubeconfig: noCurrent, env: {} },
      `no current context is set in ${noCurrent}; next: use one of its contexts with --context: a`,
    ],
    [
      'a context that does not exist',
      { kubeconfig: dangling, env: {} },
      `the cluster "x" of context "a" is not in ${dangling}, which has no clusters; next: use another file with --kubeconfig`,
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
      `the server address of cluster "a" in ${login} contains a login; next: move the login to username and password of the user`,
    ],
    [
      'a login in an address without a scheme',
      { kubeconfig: plainLogin, env: {} },
      `the server address of cluster "a" in ${plainLogin} contains a login; next: move the login to username and password of the user`,
    ],
    [
      'a login in an invalid address',
      { kubeconfig: oddLogin, env: {} },
      `the server "https://a:6443" of cluster "a" in ${oddLogin} is not an address; next: write it like https://host:6443`,
    ],
    [
      'another kind',
      { kubeconfig: deployment, env: {} },
      `the kubeconfig ${deployment} is malformed: it is a Deployment of apps/v1, not a Config of v1; next: ${correct}`,
    ],
    [
      'another version',
      { kubeconfig: version, env: {} },
      `the kubeconfig ${version} is malformed: it is a Config of v2, not a Config of v1; next: ${correct}`,
    ],
    [
      'YAML that the parser refuses',
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
      'user "a" in the kubeconfig has as-groups but no user to impersonate; next: add `as` to that user, or use --as USER',
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
      /^cannot read the kubeconfig .*: it is a directory; next: use another file with --kubeconfig$/,
    ],
  ];
  for (const [name, options, message] of table) {
    test(name, () => {
      if (typeof message === 'string') assert.equal(failure(options), message);
      else assert.match(failure(options), message);
    });
  }
});
