/**
 * TLS material and headers of the user that kubeconfig.ts has chosen, and when to reload them. Not guaranteed: that the
 * server accepts them; after a 401 the caller reloads them (Renewal).
 *
 * Exec plugins and auth-providers have their own modules, loaded only for users that need them.
 */
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { within } from '../within.ts';
import { type AuthInfo, type AuthInfoSource, type LoginSurroundings, NO_TERMINAL } from './auth-info.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import type { UserEntry } from './kubeconfig-file.ts';
import { caOf, endOf, readMaterial, readText, type Tls, tlsOf } from './tls-material.ts';

export interface Credentials {
  /** Undefined for an http:// server. A renewal returns the same object until the CA, certificate or key changes. */
  secureContext: SecureContext | undefined;
  headers: Record<string, string | string[]>;
  /** notAfter of the client certificate, read at each call. */
  certificateEnds: () => Date | undefined;
  /** Undefined if the credentials cannot change: not from files, an exec plugin or an auth-provider. */
  renewal: CredentialsRenewal | undefined;
}

export interface CredentialsRenewal {
  /** Age of the credentials at which they are reloaded. */
  afterMs: number;
  /** @param refused after a 401: runs a plugin again even if its credentials have not expired */
  load(options: { refused: boolean }): Promise<Credentials>;
}

/** Period of reading files again, as in client-go for tokens; client-go reads certificates every five minutes. */
const FILES_MS = 60_000;
/** Period of checking whether a plugin's credentials have expired. */
const PLUGIN_MS = 1_000;

/** Reads files and runs the exec plugin, if any. Throws NodepoolError that names the user and the file. */
export async function loadCredentials(
  access: ClusterAccess,
  overrides: Pick<LoginSurroundings, 'env'> & Partial<LoginSurroundings>,
): Promise<Credentials> {
  const signal = new AbortController().signal;
  const surroundings = { now: Date.now, terminal: NO_TERMINAL, signal, log: () => {}, ...overrides };
  const { user, cluster } = access;
  checkMethods(user);
  // As client-go: no credentials over plain HTTP.
  const isPlain = cluster.server.startsWith('http:');
  const source = isPlain ? undefined : await sourceOf(access, surroundings);
  const afterMs = source !== undefined ? PLUGIN_MS : !isPlain && readsFiles(user) ? FILES_MS : undefined;
  const tokenOf = tokenReader(user);
  let tls: Tls | undefined;
  let last: Credentials | undefined;
  /**
   * The plugin's last credentials were invalid, such as a certificate without its key: run it again before they expire.
   */
  let isUseless = false;

  async function read(refused: boolean): Promise<Credentials> {
    const ca = caOf(cluster);
    const plain = isPlain ? {} : plainAuthInfo(user, tokenOf(refused));
    const authInfo = { ...plain, ...(await source?.authInfo({ refused: refused || isUseless })) };
    isUseless = true;
    tls = tlsOf(access, { ca, ...authInfo }, tls);
    const headers = sendable(headersOf(user, authInfo), user);
    isUseless = false;
    return {
      secureContext: tls.context,
      headers,
      certificateEnds: () => endOf(authInfo.cert),
      renewal: afterMs === undefined ? undefined : { afterMs, load },
    };
  }

  async function load({ refused }: { refused: boolean }): Promise<Credentials> {
    try {
      last = await read(refused);
      return last;
    } catch (error) {
      // A certificate and its key are replaced by two writes. As client-go, keep the last valid pair in between.
      if (refused || source !== undefined || last === undefined) throw error;
      surroundings.log(0, () => `the previous credentials stay in use: ${(error as Error).message}`);
      return last;
    }
  }
  return load({ refused: false });
}

function readsFiles({ tokenFile, certFile, keyFile }: UserEntry): boolean {
  return [tokenFile, certFile, keyFile].some(file => file !== undefined);
}

/** As kubectl, rejects a user with two authentication methods. */
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

/** As client-go, a plugin is not run if the kubeconfig has a token, a username or a certificate. */
async function sourceOf(access: ClusterAccess, surroundings: LoginSurroundings): Promise<AuthInfoSource | undefined> {
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

/** Rejects header values that node:http would reject in every request. The error does not contain the value. */
function sendable(headers: Credentials['headers'], { name }: UserEntry): Credentials['headers'] {
  for (const [header, value] of Object.entries(headers)) {
    if (![value].flat().some(one => /[^\t\x20-\x7e\x80-\xff]/.test(one))) continue;
    const problem = `the ${header} header of user "${name}" contains an invalid character`;
    throw new NodepoolError(
      'input',
      problem,
      'check the credentials and --as for line breaks or other control characters',
    );
  }
  return headers;
}

/** Go encodes headers as UTF-8, Node as latin1: without this, the server would get another name. */
function inUtf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Percent-encodes % and bytes that a header name must not contain; the server decodes them. */
function escapeKey(key: string): string {
  const percent = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  return Buffer.from(key)
    .toString('latin1')
    .replace(/[^!#$&'*+.^_`|~0-9A-Za-z-]/g, percent);
}

function plainAuthInfo(user: UserEntry, token: string | undefined): AuthInfo {
  return {
    cert: readMaterial(user.certData, user.certFile, `client-certificate of user "${user.name}"`),
    key: readMaterial(user.keyData, user.keyFile, `client-key of user "${user.name}"`),
    authorization: authorizationOf(user, token),
  };
}

function authorizationOf({ username, password = '' }: UserEntry, token: string | undefined): string | undefined {
  if (token !== undefined) return `Bearer ${token.trim()}`;
  return username === undefined ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Reads the token file at every call. As in client-go, `token` is only used until the file has been read once. */
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
      // The file may be incomplete while it is being written. A token read from it earlier is newer than `token`.
      if (token !== undefined && (refused || !wasRead)) return token;
      throw error;
    }
  };
}

// Supervises logins: a plugin may wait for a person, or hang. A slow login is logged, and callers share it. With a
// limit, waiting callers get an error; the login continues, and the next caller joins it.
//
// Not guaranteed: that a hanging plugin is terminated. client-go has no limit at all.

/** Most plugins take a second or two. */
const LOG_AFTER_MS = 10_000;
const LOG_EVERY_MS = 60_000;

export interface LoginOptions {
  user: UserEntry;
  /** Limit in milliseconds of every login except the first, which may be interactive. */
  limitMs: number | undefined;
  clock: Clock;
  log: (level: number, text: () => string) => void;
}

/** Wraps `load`, and the renewals of the credentials that it loads. */
export function watchedLogin(
  load: () => Promise<Credentials>,
  { user, limitMs, clock, log }: LoginOptions,
): () => Promise<Credentials> {
  const who = typeof user.exec?.command === 'string' ? `the plugin ${user.exec.command}` : 'the auth-provider';
  let running: Promise<Credentials> | undefined;
  let isFirst = true;

  function join(start: () => Promise<Credentials>): Promise<Credentials> {
    running ??= run(start).finally(() => {
      running = undefined;
    });
    return isFirst || limitMs === undefined ? running : within(clock, limitMs, running, () => late(limitMs));
  }

  async function run(start: () => Promise<Credentials>): Promise<Credentials> {
    const stop = logWait();
    try {
      const credentials = await start();
      isFirst = false;
      const { renewal } = credentials;
      if (renewal === undefined) return credentials;
      return { ...credentials, renewal: { ...renewal, load: options => join(() => renewal.load(options)) } };
    } finally {
      stop();
    }
  }

  /** Logs the wait until the returned function is called. */
  function logWait(): () => void {
    const start = clock.now();
    const logLine = () => {
      const seconds = Math.round((clock.now() - start) / 1000);
      log(0, () => `waiting for ${who} to log in user "${user.name}", for ${seconds} s so far`);
      cancel = clock.after(LOG_EVERY_MS, logLine);
    };
    let cancel = clock.after(LOG_AFTER_MS, logLine);
    return () => cancel();
  }

  function late(ms: number): NodepoolError {
    const problem = `${who} has not logged in user "${user.name}" within ${ms / 1000} s`;
    const next = 'finish the login, or stop the plugin: no other plugin starts while it runs';
    return new NodepoolError('cluster', problem, next, { isGeneral: true });
  }

  return () => join(load);
}
