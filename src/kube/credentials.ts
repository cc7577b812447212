/**
 * The TLS material and the headers that prove who we are.
 *
 * Certificates, tokens and passwords are read here. Exec plugins and auth-providers (oidc, azure, gcp) go through
 * client-node's KubeConfig, which is imported only for them: its import costs more than a whole run of a small verb.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Access } from './kubeconfig.ts';
import { readProblem, type UserEntry } from './kubeconfig-file.ts';
import type { Proof } from './plugin-credentials.ts';

export interface Credentials {
  /** Undefined for an http:// server. */
  secureContext: SecureContext | undefined;
  headers: Record<string, string | string[]>;
  /** When the client certificate ends, if there is one. */
  certificateEnds: Date | undefined;
  /** Whether loading them again can give others: a token file, an exec plugin, an auth-provider. */
  renewable: boolean;
}

/** Reads files, and runs the exec plugin if there is one. Throws NodepoolError that names the user and the file. */
export async function loadCredentials({ cluster, user, source }: Access): Promise<Credentials> {
  const fromPlugin = user.exec !== undefined || user.authProvider !== undefined;
  const own = plainProof(user);
  const proof = fromPlugin ? await withPlugin(user, own) : own;
  const ca = material(cluster.caData, cluster.caFile, `certificate-authority of cluster "${cluster.name}"`);
  const { cert, key, authorization } = proof;
  if ((cert === undefined) !== (key === undefined)) {
    const [has, lacks] =
      cert === undefined ? ['client-key', 'client-certificate'] : ['client-certificate', 'client-key'];
    throw new NodepoolError(
      'input',
      `user "${user.name}" in ${source} has a ${has} and no ${lacks}`,
      `add its ${lacks}`,
    );
  }
  const headers: Credentials['headers'] = {};
  if (authorization !== undefined) headers.Authorization = authorization;
  if (user.as !== undefined) headers['Impersonate-User'] = user.as;
  if (user.as !== undefined && user.asGroups !== undefined) headers['Impersonate-Group'] = user.asGroups;
  try {
    return {
      secureContext: cluster.server.startsWith('http:') ? undefined : createSecureContext({ ca, cert, key }),
      headers,
      certificateEnds: cert === undefined ? undefined : new X509Certificate(cert).validToDate,
      renewable: fromPlugin || user.tokenFile !== undefined,
    };
  } catch (error) {
    throw new NodepoolError(
      'input',
      `the certificates of cluster "${cluster.name}" and user "${user.name}" in ${source} cannot be used: ${(error as Error).message}`,
      'check that they are PEM and that key and certificate belong together',
      { cause: error },
    );
  }
}

async function withPlugin(user: UserEntry, own: Proof): Promise<Proof> {
  const { pluginProof } = await import('./plugin-credentials.ts');
  return pluginProof(user, own);
}

function plainProof(user: UserEntry): Proof {
  return {
    cert: material(user.certData, user.certFile, `client-certificate of user "${user.name}"`),
    key: material(user.keyData, user.keyFile, `client-key of user "${user.name}"`),
    authorization: authorizationOf(user),
  };
}

function authorizationOf(user: UserEntry): string | undefined {
  // As client-go: the file's content goes before a token that stands beside it.
  const token =
    user.tokenFile === undefined ? user.token : readText(user.tokenFile, `tokenFile of user "${user.name}"`);
  if (token !== undefined) return `Bearer ${token.trim()}`;
  if (user.username === undefined) return undefined;
  return `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`;
}

/** Data goes before a file, as for client-go. */
function material(data: string | undefined, file: string | undefined, what: string): Buffer | undefined {
  if (data !== undefined) return Buffer.from(data, 'base64');
  return file === undefined ? undefined : Buffer.from(readText(file, what));
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new NodepoolError(
      'input',
      `cannot read the ${what}, ${file}: ${readProblem(error)}`,
      'correct the path in the kubeconfig',
      { cause: error },
    );
  }
}
