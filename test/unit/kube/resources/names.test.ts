import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { namesPort } from '../../../../src/kube/resources/names.ts';

const folder = mkdtempSync(join(tmpdir(), 'nodepool-names-'));
after(() => rmSync(folder, { recursive: true }));

function portOf(cluster: object, user: object, as?: string) {
  const kubeconfig = join(folder, 'config');
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return namesPort({ kubeconfig, env: {}, version: '1', ...(as === undefined ? {} : { as }) });
}

test('keeps names of each cluster and user apart', () => {
  // Read on request.
  const identityOf = (...about: Parameters<typeof portOf>) => portOf(...about).identity();
  const identities = [
    identityOf({}, { token: 'a' }),
    identityOf({}, { token: 'b' }),
    identityOf({}, { token: 'a' }, 'other'),
    identityOf({ 'certificate-authority-data': 'Yg==' }, { token: 'a' }),
    identityOf({ 'proxy-url': 'http://proxy' }, { token: 'a' }),
    identityOf({}, { exec: { command: 'p', args: ['--profile', 'a'] } }),
    identityOf({}, { exec: { command: 'p', args: ['--profile', 'b'] } }),
  ];
  assert.equal(new Set(identities).size, identities.length);
  assert.equal(identityOf({}, { token: 'a' }), identities[0]);
});

const CASES: [user: object, quiet: boolean][] = [
  [{ token: 'a' }, true],
  [{ 'auth-provider': { name: 'oidc' } }, false],
  [{ exec: { command: 'own-plugin', interactiveMode: 'Never' } }, true],
  [{ exec: { command: 'own-plugin', interactiveMode: 'IfAvailable' } }, false],
  [{ exec: { command: 'own-plugin' } }, false],
  [{ exec: { command: '/opt/gke-gcloud-auth-plugin', interactiveMode: 'IfAvailable' } }, true],
  [{ exec: { command: 'gke-gcloud-auth-plugin.exe' } }, true],
  [{ exec: { command: 'doctl', interactiveMode: 'Always' } }, false],
  // Prompts for a second factor on the terminal itself.
  [{ exec: { command: 'aws', args: ['eks', 'get-token'], interactiveMode: 'IfAvailable' } }, false],
  // As in kubelogin's guide, and it still opens a browser.
  [{ exec: { command: 'kubectl', args: ['oidc-login', 'get-token'], interactiveMode: 'Never' } }, false],
  [{ exec: { command: 'kubelogin', args: ['get-token'], interactiveMode: 'Never' } }, false],
  [{ exec: { command: '/usr/bin/tsh', args: ['kube', 'credentials'], interactiveMode: 'Never' } }, false],
];

for (const [user, quiet] of CASES) {
  test(`${JSON.stringify(user)} ${quiet ? 'never prompts' : 'may prompt'}`, () => {
    assert.equal(portOf({}, user).isQuiet(), quiet);
  });
}
