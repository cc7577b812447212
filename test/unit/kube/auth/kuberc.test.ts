/** Which exec plugins kubectl's preferences (kuberc) allow. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { failure, folder, open, script, TOKEN } from './plugin-scripts.ts';

const bin = path.join(folder, 'bin');
const other = path.join(folder, 'other');
for (const place of ['bin', 'other']) script(TOKEN, path.join(place, 'login'));
let files = 0;

describe('kuberc', () => {
  const preference = (spec: object, name = `kuberc-${++files}`) => {
    const file = path.join(folder, name);
    const head = { apiVersion: 'kubectl.config.k8s.io/v1beta1', kind: 'Preference' };
    writeFileSync(file, JSON.stringify({ ...head, ...spec }));
    return file;
  };
  const list = (...commands: string[]) =>
    preference({
      credentialPluginPolicy: 'Allowlist',
      credentialPluginAllowlist: commands.map(command => ({ command })),
    });
  const allowed: [name: string, kuberc: string, command: string][] = [
    ['no policy', preference({}), 'login'],
    ['AllowAll', preference({ credentialPluginPolicy: 'AllowAll' }), 'login'],
    ['its name', list('x', 'login'), 'login'],
    ['its path', list(path.join(bin, 'login')), 'login'],
    ['its name, called by path', list('login'), path.join(bin, 'login')],
    ['its path, called by a longer one', list(path.join(bin, 'login')), `${bin}/./login`],
    ['its name, called by a longer path', list('login'), `${bin}/../bin/login`],
    [
      'the older `name`',
      preference({ credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ name: 'login' }] }),
      'login',
    ],
    [
      'v1alpha1 knows no policy',
      preference({ apiVersion: 'kubectl.config.k8s.io/v1alpha1', credentialPluginPolicy: 'DenyAll' }),
      'login',
    ],
    ['off', 'off', 'login'],
  ];
  for (const [name, KUBERC, command] of allowed) {
    test(`allows ${name}`, async () => {
      assert.equal((await open({ command }, { env: { PATH: bin, KUBERC } }).authInfo()).authorization, 'Bearer t');
    });
  }

  const denied: [name: string, kuberc: string, command: string, message: RegExp][] = [
    [
      'DenyAll',
      preference({ credentialPluginPolicy: 'DenyAll' }),
      'login',
      /login may not run: credentialPluginPolicy is DenyAll in .*kuberc-/,
    ],
    [
      'another name',
      list('logins'),
      'login',
      /login \(.*\/bin\/login\) may not run: it is not in credentialPluginAllowlist of .*kuberc-/,
    ],
    ['another file with the same name', list(path.join(other, 'login')), 'login', /may not run/],
    ['its name, and another is called by path', list('login'), path.join(other, 'login'), /may not run/],
    ['a file of the current folder', list('x'), path.relative(process.cwd(), path.join(bin, 'login')), /may not run/],
    ['a missing file', list('x'), 'gone', /plugin gone may not run/],
    [
      'an unknown policy',
      preference({ credentialPluginPolicy: 'Some' }),
      'login',
      /"Some" is not one of AllowAll, DenyAll, Allowlist/,
    ],
    [
      'a list without its policy',
      preference({ credentialPluginAllowlist: [{ command: 'login' }] }),
      'login',
      /Allowlist is set, but credentialPluginPolicy is AllowAll/,
    ],
    [
      'a policy without its list',
      preference({ credentialPluginPolicy: 'Allowlist' }),
      'login',
      /credentialPluginAllowlist has no entry/,
    ],
    ['an empty list', list(), 'login', /credentialPluginAllowlist has no entry/],
    ['an empty entry', list(''), 'login', /credentialPluginAllowlist\[0\] has no command/],
    ['a path that is not normalised', list(`${bin}/../bin/login`), 'login', /not the shortest form/],
    [
      'two names',
      preference({
        credentialPluginPolicy: 'Allowlist',
        credentialPluginAllowlist: [{ command: 'login', name: 'x' }],
      }),
      'login',
      /a command and a different name/,
    ],
    [
      'a missing file on a path',
      '/no/kuberc',
      'login',
      /cannot read the kubectl preferences \/no\/kuberc: no such file/,
    ],
    ['no preferences', preference({ kind: 'Config' }), 'login', /it has no Preference of/],
  ];
  for (const [name, KUBERC, command, message] of denied) {
    test(`refuses ${name}`, async () => {
      assert.match(await failure({ command }, { env: { PATH: bin, KUBERC } }), message);
    });
  }

  test('uses the first Preference of several documents, ignoring the others', async () => {
    const head = 'apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference';
    const file = path.join(folder, 'documents');
    const env = { PATH: bin, KUBERC: file };
    for (const rest of ['a: [', 'kind: Other', '# nothing', '']) {
      for (const order of [(parts: string[]) => parts, (parts: string[]) => parts.toReversed()]) {
        writeFileSync(file, order([`${head}\ncredentialPluginPolicy: DenyAll\n`, rest]).join('\n--- # next\n'));
        assert.match(await failure({ command: 'login' }, { env }), /DenyAll/, rest);
      }
    }
  });

  test('warns of a misspelt policy, or of a version without policies, as nothing is enforced', async () => {
    for (const [field, version] of [
      ['credentialPluginpolicy', 'v1beta1'],
      ['credentialPluginPolicy', 'v1alpha1'],
    ] as const) {
      const apiVersion = `kubectl.config.k8s.io/${version}`;
      const KUBERC = preference({ apiVersion, [field]: 'DenyAll', defaults: [], other: 1 });
      const { authInfo, lines } = open({ command: 'login' }, { env: { PATH: bin, KUBERC } });
      await authInfo();
      assert.deepEqual(lines, [
        `0 ${KUBERC}: "${field}" has no effect in ${apiVersion}; kubectl.config.k8s.io/v1beta1 has credentialPluginPolicy and credentialPluginAllowlist`,
      ]);
    }
  });

  test('reads ~/.kube/kuberc, and warns when it cannot be read', async () => {
    mkdirSync(path.join(folder, '.kube'), { recursive: true });
    const env = { PATH: bin, HOME: folder };
    const home = preference({ credentialPluginPolicy: 'DenyAll' }, '.kube/kuberc');
    assert.match(await failure({ command: 'login' }, { env }), /DenyAll/);
    for (const off of [{ KUBERC: 'off' }, { KUBECTL_KUBERC: 'false' }]) {
      await open({ command: 'login' }, { env: { ...env, ...off } }).authInfo();
    }
    writeFileSync(home, 'a: [');
    const { authInfo, lines } = open({ command: 'login' }, { env });
    await authInfo();
    assert.match(lines.join(), /^0 cannot read the kubectl preferences .*\.kube\/kuberc: /);
  });
});
