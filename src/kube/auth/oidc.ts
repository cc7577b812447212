/**
 * The legacy auth-provider `oidc`, as client-go's plugin/pkg/client/auth/oidc: uses the id-token until it expires, then
 * refreshes it and writes both tokens to the kubeconfig. As in client-go, a 401 does not cause a refresh.
 */
import { randomUUID } from 'node:crypto';
import { type BigIntStats, closeSync, constants, ftruncateSync, readFileSync, writeFileSync } from 'node:fs';
import { open, realpath, rename, rm } from 'node:fs/promises';
import { dump } from 'js-yaml';
import { sleep, systemClock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject, parsedJson } from '../../nodepool/json.ts';
import { askWeb } from '../web.ts';
import type { AuthInfo, AuthInfoSource, LoginSurroundings } from './auth-info.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import {
  documentsIn,
  isText,
  type KubeconfigSection,
  malformed,
  openRegularFile,
  readKubeconfigFile,
  type UserEntry,
} from './kubeconfig-file.ts';
import { readText } from './tls-material.ts';

/** A token counts as expired this long before its end, because clocks differ. */
const EARLY_MS = 10_000;
const LOG_IN = 'log in again with the tool that wrote the kubeconfig';

/** Throws NodepoolError (input) for an unknown auth-provider. */
export function authProviderOf(access: ClusterAccess, surroundings: LoginSurroundings): AuthInfoSource {
  const { user, source } = access;
  const { name } = user.authProvider ?? {};
  const problem = `the auth-provider ${name} of user "${user.name}"`;
  const successor = { azure: 'kubelogin', gcp: 'gke-gcloud-auth-plugin' }[String(name)];
  if (successor !== undefined) {
    throw new NodepoolError(
      'input',
      `${problem} is no longer supported, as in kubectl`,
      `use the exec plugin ${successor}`,
    );
  }
  if (name !== 'oidc') throw new NodepoolError('input', `${problem} is unknown`, 'use an exec plugin');
  return new Oidc(user, user.file ?? source, surroundings);
}

/** Throws NodepoolError (input) that names the field. */
function configOf({ name, authProvider }: UserEntry, file: string): OidcConfig {
  const where = `users["${name}"].user.auth-provider.config`;
  const config = authProvider?.config;
  if (!isObject(config)) throw malformed(file, `${where} is not a mapping`);
  for (const [key, value] of Object.entries(config)) {
    if (typeof value !== 'string') throw malformed(file, `${where}.${key} is not a string`);
  }
  for (const key of ['idp-issuer-url', 'client-id']) {
    if (!isText(config[key])) throw malformed(file, `${where}.${key} is missing`);
  }
  return config as OidcConfig;
}

class Oidc implements AuthInfoSource {
  readonly #user: string;
  readonly #file: string;
  readonly #surroundings: LoginSurroundings;
  #config: OidcConfig;

  constructor(user: UserEntry, file: string, surroundings: LoginSurroundings) {
    this.#user = user.name;
    this.#file = file;
    this.#config = configOf(user, file);
    this.#surroundings = surroundings;
  }

  async authInfo(): Promise<AuthInfo> {
    const token = this.#lasting() ?? this.#lastingInFile() ?? (await this.#renewed());
    return { authorization: `Bearer ${token}` };
  }

  /** The id-token, unless it has expired. */
  #lasting(): string | undefined {
    const token = this.#config['id-token'];
    return token && this.#expiry(token) > this.#surroundings.now() + EARLY_MS ? token : undefined;
  }

  /** Unlike client-go, reads the file again: another process may have used the refresh-token (often valid once). */
  #lastingInFile(): string | undefined {
    try {
      const user = readKubeconfigFile(this.#file)?.users.find(({ name }) => name === this.#user);
      if (user !== undefined) this.#config = configOf(user, this.#file);
    } catch {
      // The file is being written, or is now invalid: keep the last config.
    }
    return this.#lasting();
  }

  async #renewed(): Promise<string> {
    try {
      return await this.#refresh();
    } catch (error) {
      // Another process may have refreshed the tokens at the same time.
      const token = this.#lastingInFile();
      if (token === undefined) throw error;
      return token;
    }
  }

  /** Milliseconds since 1970. */
  #expiry(token: string): number {
    try {
      const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      if (typeof exp === 'number' || exp === undefined) return (exp ?? 0) * 1000;
    } catch {
      // Reported below.
    }
    throw this.#error('its id-token is not a JWT');
  }

  async #refresh(): Promise<string> {
    const { 'refresh-token': refreshToken, ...config } = this.#config;
    if (!refreshToken) throw this.#error('its id-token has expired, and it has no refresh-token');
    let answer: Record<string, unknown>;
    try {
      answer = await issuerRequest(config, refreshToken, this.#surroundings);
    } catch (error) {
      const { message, next } = error as Error & { next?: string };
      throw this.#error(`its token cannot be refreshed: ${message}`, error, next);
    }
    const { id_token: idToken, refresh_token: next } = answer;
    if (!isText(idToken)) {
      throw this.#error('the issuer gave no id_token: the login was without the scope "openid", or it never gives one');
    }
    const renewed = { ...this.#config, 'id-token': idToken, ...(isText(next) ? { 'refresh-token': next } : {}) };
    try {
      await persistTokens(this.#file, this.#user, renewed);
    } catch (error) {
      const problem = `its new tokens cannot be written to ${this.#file}: ${(error as Error).message}`;
      throw this.#error(problem, error, `fix this, then ${LOG_IN}`);
    }
    this.#config = renewed;
    return idToken;
  }

  #error(problem: string, cause?: unknown, next = LOG_IN): NodepoolError {
    const message = `the auth-provider oidc gave no credentials for user "${this.#user}": ${problem}`;
    return new NodepoolError('cluster', message, next, { cause, isGeneral: true });
  }
}

// Writes refreshed tokens to the kubeconfig that they come from. As kubectl, rewrites the file without its comments.

/** kubectl holds the lock during a write. */
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 50;

/** Does nothing if the file no longer has the user. If it throws, the file is unchanged. @param config the new one */
export async function persistTokens(file: string, user: string, config: Record<string, string>): Promise<void> {
  // Resolved once: a user with write access to the folder could replace the file by a link at any time.
  const target = await realpath(file);
  // kubectl uses the same lock.
  const lock = `${file}.lock`;
  await take(lock);
  try {
    const { text, stats } = read(target);
    const documents = documentsIn(text);
    const [root] = documents;
    const users = isObject(root) && Array.isArray(root.users) ? root.users.filter(isObject) : [];
    const section = users.find(({ name }) => name === user)?.user;
    const provider = isObject(section) ? section['auth-provider'] : undefined;
    if (!isObject(provider)) return;
    provider.config = config;
    await replace(target, documents.map(document => dump(document, { lineWidth: -1 })).join('---\n'), stats);
  } finally {
    await rm(lock, { force: true });
  }
}

/** Waits for the lock: a refresh-token that is valid once must not be lost. */
async function take(lock: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await (await open(lock, 'wx', 0o600)).close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (tries === LOCK_TRIES)
        throw new Error(`${lock} exists: kubectl is writing it, or was killed and left it behind`);
    }
    await sleep(systemClock, LOCK_WAIT_MS);
  }
}

function read(file: string): { text: string; stats: BigIntStats } {
  const { descriptor, stats } = openItself(file, constants.O_RDONLY);
  try {
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces the file atomically; keeps owner, group and mode. @param original stats of the file that was read */
async function replace(file: string, text: string, original: BigIntStats): Promise<void> {
  // Unpredictable. A process id would repeat: in containers, it is always 1.
  const next = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(next, 'wx', 0o600);
    let isSame: boolean;
    try {
      await handle.writeFile(text);
      await handle.sync();
      isSame = await handle.chown(Number(original.uid), Number(original.gid)).then(
        () => true,
        () => false,
      );
      // After chown: the group before chown must not read the file.
      if (isSame) await handle.chmod(Number(original.mode) & 0o777);
    } finally {
      await handle.close();
    }
    if (isSame) return await rename(next, file);
    // The file has another owner, which chown cannot set: overwrite the file in place, as kubectl does.
    overwrite(file, text, original);
    await rm(next);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

function overwrite(file: string, text: string, original: BigIntStats): void {
  const { descriptor, stats } = openItself(file, constants.O_WRONLY);
  try {
    if (stats.dev !== original.dev || stats.ino !== original.ino) throw replaced(file);
    ftruncateSync(descriptor);
    writeFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** Opens the file itself: does not follow links. */
function openItself(file: string, flags: number) {
  try {
    // Windows has no O_NOFOLLOW; creating links requires a privilege there.
    return openRegularFile(file, flags | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? replaced(file) : error;
  }
}

function replaced(file: string): Error {
  return new Error(`${file} was replaced by another file or a link meanwhile`);
}

// Requests to an OpenID Connect issuer: discovery of its token endpoint, and the refresh of tokens.

/** The auth-provider's `config` in the kubeconfig. */
type OidcConfig = Record<string, string>;

/** Maximum number of characters of a response that an error quotes. */
const MAX_QUOTED = 80;
/** Limit of a response in bytes: tokens have a few thousand bytes. */
const MAX_BYTES = 1024 ** 2;
/** Limit of each request in milliseconds: no request waits for a person. */
const DEADLINE_MS = 30_000;

interface IssuerAnswer {
  status: number;
  body: string;
}

type IssuerRequest = (url: string, init?: { headers: Record<string, string>; body: string }) => Promise<IssuerAnswer>;

/**
 * The token endpoint's response to a refresh (RFC 6749, 6). Throws Error without secrets, or a NodepoolError.
 */
export async function issuerRequest(
  config: OidcConfig,
  refreshToken: string,
  { env, signal }: Pick<LoginSurroundings, 'env' | 'signal'>,
  deadlineMs = DEADLINE_MS,
): Promise<KubeconfigSection> {
  const issuer = config['idp-issuer-url'] ?? '';
  // Over http, an attacker on the path could name the endpoint that gets the refresh-token.
  if (!isHttps(issuer)) throw new Error('its idp-issuer-url is not https://');
  const ca = certificateAuthority(config);
  const ask: IssuerRequest = (url, init) => exchange(new URL(url), { ca, env, signal, deadlineMs }, init);
  const endpoint = await tokenEndpoint(issuer, ask);
  const { 'client-id': id = '', 'client-secret': secret = '' } = config;
  const refresh = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
  const headers = { ...form, Authorization: `Basic ${basic}` };
  let answer = await ask(endpoint, { headers, body: `${new URLSearchParams(refresh)}` });
  if (!isGranted(answer)) {
    // Some issuers require the client's credentials in the form. Go's oauth2 tries both, in this order.
    const who = { client_id: id, ...(secret === '' ? {} : { client_secret: secret }) };
    answer = await ask(endpoint, { headers: form, body: `${new URLSearchParams({ ...refresh, ...who })}` });
  }
  if (!isGranted(answer)) {
    const said = [refreshToken, secret].reduce(
      (text, secret) => (secret ? text.replaceAll(secret, '<hidden>') : text),
      answer.body,
    );
    throw new Error(`${endpoint} answered ${answer.status}: ${quoted(said)}`);
  }
  return parsed(answer, endpoint);
}

function certificateAuthority(config: OidcConfig): Buffer | string | undefined {
  const { 'idp-certificate-authority-data': data, 'idp-certificate-authority': file } = config;
  if (data) return Buffer.from(data, 'base64');
  return file ? readText(file, 'idp-certificate-authority') : undefined;
}

/** OpenID Connect Discovery 1.0, 4. */
async function tokenEndpoint(issuer: string, ask: IssuerRequest): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await ask(url);
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${quoted(answer.body)}`);
  const { token_endpoint: endpoint } = parsed(answer, url);
  if (!isText(endpoint)) throw new Error(`${url} names no token_endpoint`);
  // OpenID Connect Discovery 1.0, 3. The endpoint gets the refresh-token.
  if (!isHttps(endpoint)) throw new Error(`${url} names a token_endpoint that is not https://`);
  return endpoint;
}

function isHttps(url: string): boolean {
  return URL.parse(url)?.protocol === 'https:';
}

interface IssuerConnection {
  ca: Buffer | string | undefined;
  env: LoginSurroundings['env'];
  signal: AbortSignal;
  deadlineMs: number;
}

async function exchange(
  url: URL,
  { ca, env, signal, deadlineMs }: IssuerConnection,
  init: Parameters<IssuerRequest>[1],
): Promise<IssuerAnswer> {
  const where = `${url.origin}${url.pathname}`;
  const late = AbortSignal.timeout(deadlineMs);
  try {
    const ended = AbortSignal.any([signal, late]);
    const { status, body } = await askWeb(url, { ...init, ca, env, signal: ended, maxBytes: MAX_BYTES });
    if (body.length > MAX_BYTES) throw new Error(`${where} answered with more than 1 MiB`);
    return { status, body: body.toString() };
  } catch (error) {
    if (late.aborted) throw new Error(`${where} gave no answer within ${deadlineMs / 1000} s`, { cause: error });
    if (!(error instanceof NodepoolError)) throw error;
    throw new NodepoolError('cluster', `${where}: ${error.message}`, error.next, { cause: error });
  }
}

/** Some issuers refuse with 200 and the error of RFC 6749, 5.2. */
function isGranted({ status, body }: IssuerAnswer): boolean {
  return status >= 200 && status < 300 && !isText(sectionIn(body)?.error);
}

function parsed({ body }: IssuerAnswer, url: string): KubeconfigSection {
  const section = sectionIn(body);
  // The body is not quoted: it may contain tokens in another format.
  if (section === undefined) throw new Error(`${url} answered with something other than JSON`);
  return section;
}

function sectionIn(json: string): KubeconfigSection | undefined {
  const value = parsedJson(json);
  return isObject(value) ? value : undefined;
}

function quoted(body: string): string {
  return JSON.stringify(body.length > MAX_QUOTED ? `${body.slice(0, MAX_QUOTED)}…` : body);
}
