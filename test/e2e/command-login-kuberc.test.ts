/** The kuberc's policy for exec plugins on a real kube-apiserver, compared with kubectl. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { answering, writeKubeconfig, writePlugin } from './login-files.ts';
import { ASK, KUBECTL_ASK, useLogins } from './logins.ts';

const { cluster, admin, user } = useLogins();

describe('kuberc', () => {
  const entries = (...commands: string[]) => commands.map(command => ({ command }));
  const table: [name: string, spec: object, allowed: boolean][] = [
    ['no policy', {}, true],
    ['AllowAll', { credentialPluginPolicy: 'AllowAll' }, true],
    ['DenyAll', { credentialPluginPolicy: 'DenyAll' }, false],
    ['its path', { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: entries('PLUGIN') }, true],
    [
      'the plugin name, not in PATH',
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
      assert.match((await cliHere(cluster(), ASK, { env })).stderr, /credentialPluginPolicy is DenyAll/);
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
      const ours = await cliHere(cluster(), ASK, { env });
      assert.equal(ours.code === 0, allowed, ours.stderr);
    });
  }
});
