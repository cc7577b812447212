/**
 * The TLS material and the headers that prove who we are.
 *
 * Certificates, tokens and passwords are read here. Exec plugins and auth-providers (oidc, azure, gcp) go through
 * client-node's KubeConfig, which is imported only for them: its import costs more than a whole run of a small verb.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Access } from './kubeconfig.ts';
import { readProblem, type UserEntry } from './kubeconfig-file.ts';
import type { Plugin, Proof } from './plugin-credentials.ts';
import type { RequestLog } from './request-log.ts';

export interface Credentials {
  /** Undefined for an http:// server. A renewal gives the same object while CA, certificate and key are the same. */
  secureContext: SecureContext | undefined;
  headers: Record<string, string | string[]>;
  /** When the client certificate ends, if there is one. */
  certificateEnds: Date | undefined;
  /** Where loading them again can give others: files of a token or a certificate, an exec plugin, an auth-provider. */
  renewal: Renewal | undefined;
}

export interface Renewal {
  /** How old they may get before they are loaded again. */
  afterMs: number;
  /** @param refused the server refused these: a plugin is run again, else only once its credentials have expired */
  load(options: { refused: boolean }): Promise<Credentials>;
}

/** Files are read again this often: client-go's period for tokens; for certificates it takes five minutes. */
const FILES_MS = 60_000;
/** Plugins are run when what they gave has expired; this is how often that is looked at. */
const PLUGIN_MS = 1_000;

/**
 * Reads files, and runs the exec plugin if there is one. Throws NodepoolError that names the user and the file.
 * @param log is told when files cannot be read again
 */
export async function loadCredentials(access: Access, log: RequestLog = () => {}): Promise<Credentials> {
  const { user } = access;
  const plugin = user.exec !== undefined || user.authProvider !== undefined ? await pluginOf(user) : undefined;
  const afterMs = plugin !== undefined ? PLUGIN_MS : readsFiles(user) ? FILES_MS : undefined;
  let tls: Tls | undefined;
  let last: Credentials | undefined;

  async function read(refused: boolean): Promise<Credentials> {
    const own = plainProof(user);
    const proof = plugin === undefined ? own : await plugin.proof(own, { refused });
    tls = tlsOf(access, proof, tls);
    return {
      secureContext: tls.context,
      headers: headersOf(user, proof),
      certificateEnds: tls.certificateEnds,
      renewal: afterMs === undefined ? undefined : { afterMs, load },
    };
  }

  async function load({ refused }: { refused: boolean }): Promise<Credentials> {
    try {
      last = await read(refused);
      return last;
    } catch (error) {
      // Between the two writes that replace a certificate and its key they do not belong together. As client-go: what
      // was good until now goes on.
      if (refused || plugin !== undefined || last === undefined) throw error;
      log(0, () => `the credentials read before stay in use: ${(error as Error).message}`);
      return last;
    }
  }
  return load({ refused: false });
}

function readsFiles({ tokenFile, certFile, certData, keyFile, keyData }: UserEntry): boolean {
  const files = [tokenFile, certData === undefined ? certFile : undefined, keyData === undefined ? keyFile : undefined];
  return files.some(file => file !== undefined);
}

async function pluginOf(user: UserEntry): Promise<Plugin> {
  const { Plugin } = await import('./plugin-credentials.ts');
  return new Plugin(user);
}

interface Tls {
  material: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;
  context: SecureContext | undefined;
  certificateEnds: Date | undefined;
}

/** The last one again when nothing in it has changed. */
function tlsOf({ cluster, user, source }: Access, { cert, key }: Proof, last: Tls | undefined): Tls {
  const ca = material(cluster.caData, cluster.caFile, `certificate-authority of cluster "${cluster.name}"`);
  if ((cert === undefined) !== (key === undefined)) {
    const [has, lacks] =
      cert === undefined ? ['client-key', 'client-certificate'] : ['client-certificate', 'client-key'];
    throw new NodepoolError(
      'input',
      `user "${user.name}" in ${source} has a ${has} and no ${lacks}`,
      `add its ${lacks}`,
    );
  }
  const all = { ca, cert, key };
  if (last !== undefined && isDeepStrictEqual(all, last.material)) return last;
  try {
    return {
      material: all,
      context: cluster.server.startsWith('http:') ? undefined : createSecureContext(all),
      certificateEnds: cert === undefined ? undefined : new X509Certificate(cert).validToDate,
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

function headersOf({ as, asGroups }: UserEntry, { authorization }: Proof): Credentials['headers'] {
  return {
    ...(authorization === undefined ? {} : { Authorization: authorization }),
    ...(as === undefined ? {} : { 'Impersonate-User': as }),
    ...(as === undefined || asGroups === undefined ? {} : { 'Impersonate-Group': asGroups }),
  };
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
  if (token?.trim() === '' && user.tokenFile !== undefined) {
    throw new NodepoolError(
      'input',
      `the tokenFile of user "${user.name}", ${user.tokenFile}, is empty`,
      'log in again',
    );
  }
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
