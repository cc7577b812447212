/** docs/commands/login.md, with its users and an exec plugin whose session expires. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { EXEC_V1 } from './login-files.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';

const PAGE = 'docs/commands/login.md';
const PLUGIN = `#!/bin/sh
if [ -e ~/.acme/session ]; then exec cat ~/.acme/session; fi
echo 'Your session has expired: run acme login' >&2
exit 3
`;

const worker = { 'node-role.kubernetes.io/worker': '' };
const cluster = useCluster({ crd: true }, async started => {
  await createNodes(started, [
    { name: 'worker-1', labels: worker },
    { name: 'worker-2', labels: worker },
  ]);
});

test('every command prints what the page says', { timeout: 120_000 }, async () => {
  const text = await readPage(PAGE);
  const sh = await pageShell(cluster(), text);
  await allowed(sh, 'kubectl nodepool create worker --label tier=gold --reconcile');
  await allowed(sh, 'mkdir -p .acme .kube/tools');
  const { stdout } = await sh.run('cd && pwd');
  const home = stdout.trim();
  const { cert: clientCertificateData, key: clientKeyData } = cluster().admin;
  const session = { kind: 'ExecCredential', apiVersion: EXEC_V1, status: { clientCertificateData, clientKeyData } };
  await writeFile(join(home, '.acme/session'), JSON.stringify(session));
  await writeFile(join(home, '.kube/tools/acme-login'), PLUGIN, { mode: 0o755 });
  const [, shown = ''] = /^```yaml\n(users:\n.*?)^```$/ms.exec(text) ?? [];
  const file = join(home, '.kube/config');
  const config = kubeconfig(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...config, users: [...config.users, ...kubeconfig(shown).users] }));
  await followPage(PAGE, sh);
});

function kubeconfig(text: string): { users: object[] } {
  return load(text) as { users: object[] };
}
