/** Writes kubeconfigs and exec plugins for the tests of logins, into the cluster's folder. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../cluster/control-plane.ts';

export const EXEC_V1 = 'client.authentication.k8s.io/v1';
export const EXEC_V1BETA1 = 'client.authentication.k8s.io/v1beta1';

let files = 0;

/** Writes a kubeconfig of one user; returns its path. */
export async function writeKubeconfig(cluster: ControlPlane, user: object, change: object = {}): Promise<string> {
  const file = join(cluster.dir, `login-${++files}.kubeconfig`);
  const data = Buffer.from(cluster.ca).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: cluster.server, 'certificate-authority-data': data, ...change } }],
    users: [{ name: 'u', user }],
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

/** Writes an exec plugin that runs this shell text; returns its path. */
export async function writePlugin(cluster: ControlPlane, text: string): Promise<string> {
  const file = join(cluster.dir, `login-plugin-${++files}`);
  await writeFile(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return file;
}

/** Shell text that prints this ExecCredential. */
export async function answering(cluster: ControlPlane, status: object, apiVersion = EXEC_V1): Promise<string> {
  const file = join(cluster.dir, `login-answer-${++files}.json`);
  await writeFile(file, JSON.stringify({ apiVersion, kind: 'ExecCredential', status }));
  return `cat '${file}'`;
}
