/**
 * The door of this folder, after kubeconfig.ts, which says what cluster and user are meant: TLS material and headers that
 * prove who we are, and when they are to be loaded again. Not guaranteed: that the server takes them. Whoever is refused
 * loads them again (Renewal).
 *
 * Certificates, tokens and passwords are read here. Exec plugins and auth-providers have modules of their own, which a
 * verb loads only for them.
 */
import type { SecureContext } from 'node:tls';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type AuthInfo, type AuthInfoSource, type LoginSurroundings, NO_TERMINAL } from './auth-info.ts';
import type { Access } from './kubeconfig.ts';
import type { UserEntry } from './kubeconfig-file.ts';
import { caOf, material, readText, type Tls, tlsOf } from './tls-material.ts';

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

/** Reads files, and runs the exec plugin if there is one. Throws NodepoolError that names the user and the file. */
export async function loadCredentials(
  access: Access,
  given: Pick<LoginSurroundings, 'env'> & Partial<LoginSurroundings>,
): Promise<Credentials> {
  const signal = new AbortController().signal;
  const surroundings = { now: Date.now, terminal: NO_TERMINAL, signal, log: () => {}, ...given };
  const { user, cluster } = access;
  checkMethods(user);
  // As client-go: nothing that proves who we are is sent over plain HTTP.
  const isPlain = cluster.server.startsWith('http:');
  const source = isPlain ? undefined : await sourceOf(access, surroundings);
  const afterMs = source !== undefined ? PLUGIN_MS : !isPlain && readsFiles(user) ? FILES_MS : undefined;
  const tokenOf = tokenReader(user);
  let tls: Tls | undefined;
  let last: Credentials | undefined;
  /** What a plugin gave last was no use, as a certificate without its key: it is not kept, whatever its time. */
  let isUseless = false;

  async function read(refused: boolean): Promise<Credentials> {
    const ca = caOf(cluster);
    const own = isPlain ? {} : plainAuthInfo(user, tokenOf(refused));
    const authInfo = { ...own, ...(await source?.authInfo({ refused: refused || isUseless })) };
    isUseless = true;
    tls = tlsOf(access, { ca, ...authInfo }, tls);
    const headers = sendable(headersOf(user, authInfo), user);
    isUseless = false;
    return {
      secureContext: tls.context,
      headers,
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
      if (refused || source !== undefined || last === undefined) throw error;
      surroundings.log(0, () => `the credentials read before stay in use: ${(error as Error).message}`);
      return last;
    }
  }
  return load({ refused: false });
}

function readsFiles({ tokenFile, certFile, keyFile }: UserEntry): boolean {
  return [tokenFile, certFile, keyFile].some(file => file !== undefined);
}

/** Two that exclude each other are a mistake, as for kubectl. */
function checkMethods({ name, ...user }: UserEntry): void {
  const pairs: [one: unknown, other: unknown, both: string][] = [
    [user.exec, user.authProvider, 'an exec plugin and an auth-provider'],
    [user.token ?? user.tokenFile, user.username, 'a token and a username'],
    [user.token, user.password, 'a token and a password'],
    [user.certFile, user.certData, 'client-certificate and client-certificate-data'],
    [user.keyFile, user.keyData, 'client-key and client-key-data'],
  ];
  const [, , both] = pairs.find(([one, other]) => one !== undefined && other !== undefined) ?? [];
  if (both !== undefined) {
    throw new NodepoolError('input', `user "${name}" in the kubeconfig has ${both}`, 'keep one of the two');
  }
}

/** As client-go, a plugin is not asked where the kubeconfig itself has what it would give. */
async function sourceOf(access: Access, surroundings: LoginSurroundings): Promise<AuthInfoSource | undefined> {
  const { user, cluster } = access;
  if ((user.token ?? user.tokenFile ?? user.username) !== undefined) return undefined;
  if (user.authProvider !== undefined) {
    const { authProviderOf } = await import('./oidc.ts');
    return authProviderOf(access, surroundings);
  }
  const hasCertificate = (user.certData ?? user.certFile) !== undefined && (user.keyData ?? user.keyFile) !== undefined;
  if (user.exec === undefined || hasCertificate) return undefined;
  const { ExecPlugin } = await import('./exec-plugin.ts');
  return new ExecPlugin(access, caOf(cluster), surroundings);
}

function headersOf(
  { as, asUid, asGroups, asUserExtra = {} }: UserEntry,
  { authorization }: AuthInfo,
): Credentials['headers'] {
  const login = authorization === undefined ? {} : { Authorization: authorization };
  if (as === undefined) return login;
  const extras = Object.entries(asUserExtra).map(([key, values]) => [
    `Impersonate-Extra-${escapeKey(key)}`,
    values.map(inUtf8),
  ]);
  return {
    ...login,
    'Impersonate-User': inUtf8(as),
    ...(asUid === undefined ? {} : { 'Impersonate-Uid': inUtf8(asUid) }),
    ...(asGroups === undefined ? {} : { 'Impersonate-Group': asGroups.map(inUtf8) }),
    ...Object.fromEntries(extras),
  };
}

/** Throws of what Node would not send, and would say of each request. The value is not shown. */
function sendable(headers: Credentials['headers'], { name }: UserEntry): Credentials['headers'] {
  for (const [header, value] of Object.entries(headers)) {
    if (![value].flat().some(one => /[^\t\x20-\x7e\x80-\xff]/.test(one))) continue;
    const problem = `what user "${name}" sends as ${header} has a character that no header may have`;
    throw new NodepoolError('input', problem, 'look for a line break or another control character in it, or in --as');
  }
  return headers;
}

/** Go reads and writes headers in UTF-8, and Node a byte for each character: another name would get to the server. */
function inUtf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Bytes that no header's name may have are written as %XX, and so is %: the server reads them so. */
function escapeKey(key: string): string {
  const percent = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  return Buffer.from(key)
    .toString('latin1')
    .replace(/[^!#$&'*+.^_`|~0-9A-Za-z-]/g, percent);
}

function plainAuthInfo(user: UserEntry, token: string | undefined): AuthInfo {
  return {
    cert: material(user.certData, user.certFile, `client-certificate of user "${user.name}"`),
    key: material(user.keyData, user.keyFile, `client-key of user "${user.name}"`),
    authorization: authorizationOf(user, token),
  };
}

function authorizationOf({ username, password = '' }: UserEntry, token: string | undefined): string | undefined {
  if (token !== undefined) return `Bearer ${token.trim()}`;
  return username === undefined ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/**
 * Reads the token anew with each call. As client-go: the file's content goes before a token that stands beside it, which
 * serves as long as there was no content.
 */
function tokenReader({ name, token, tokenFile }: UserEntry): (refused: boolean) => string | undefined {
  let wasRead = false;
  return refused => {
    if (tokenFile === undefined) return token;
    try {
      const content = readText(tokenFile, `tokenFile of user "${name}"`);
      if (content.trim() === '') {
        throw new NodepoolError('input', `the tokenFile of user "${name}", ${tokenFile}, is empty`, 'log in again');
      }
      wasRead = true;
      return content;
    } catch (error) {
      // It may be written just now: what was read before is newer than the token of the kubeconfig.
      if (token !== undefined && (refused || !wasRead)) return token;
      throw error;
    }
  };
}
