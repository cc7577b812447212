/** Kubeconfigs for users of a control plane under test. */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Authority, clientCertificate, type KeyPair, type Validity } from './certificates.ts';

export const CONTEXT = 'nodepool-demo';

/** The properties of a control plane that its kubeconfigs need. */
export interface Realm {
  server: string;
  dir: string;
  authority: Authority;
}

/** Writes a kubeconfig (mode 0600, context nodepool-demo) at `path`. */
export async function writeKubeconfig(path: string, server: string, ca: string, client: KeyPair): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const content = `apiVersion: v1
kind: Config
current-context: ${CONTEXT}
clusters:
- name: ${CONTEXT}
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${CONTEXT}
  user:
    client-certificate-data: ${base64(client.cert)}
    client-key-data: ${base64(client.key)}
contexts:
- name: ${CONTEXT}
  context:
    cluster: ${CONTEXT}
    user: ${CONTEXT}
`;
  await writeFile(path, content, { mode: 0o600 });
}

/** Writes a kubeconfig for a user, without permissions unless it has groups, expired with a past `notAfter`. Returns its path. */
export async function kubeconfigFor(
  realm: Realm,
  user: string,
  options: Validity & { groups?: readonly string[] } = {},
): Promise<string> {
  const path = join(realm.dir, `user-${randomUUID()}.kubeconfig`);
  const client = clientCertificate(realm.authority, user, options.groups, options);
  await writeKubeconfig(path, realm.server, realm.authority.cert, client);
  return path;
}

/** Turns off compressed responses in the kubeconfig at `path`. */
export async function disableCompression(path: string): Promise<void> {
  const content = await readFile(path, 'utf8');
  await writeFile(path, content.replace('    server:', '    disable-compression: true\n    server:'));
}
