/**
 * The legacy auth-provider `oidc`, as client-go's plugin/pkg/client/auth/oidc: uses the id-token until it expires, then
 * refreshes it and writes both tokens to the kubeconfig. As client-go, it does not refresh a token after a 401.
 */
import { randomUUID } from 'node:crypto';
import { type BigIntStats, closeSync, constants, ftruncateSync, readFileSync, writeFileSync } from 'node:fs';
import { open, realpath, rename, rm } from 'node:fs/promises';
import { dump } from 'js-yaml';
import { sleep, systemClock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import type { AuthInfo, AuthInfoSource, LoginSurroundings } from './auth-info.ts';
import type { Access } from './kubeconfig.ts';
import {
  documentsIn,
  isText,
  malformed,
  openRegularFile,
  readKubeconfigFile,
  type UserEntry,
} from './kubeconfig-file.ts';
import { issuerRequest, type OidcConfig } from './oidc-issuer.ts';

/** A token counts as expired this long before its end: clocks differ. */
const EARLY_MS = 10_000;
const LOG_IN = 'log in again with the tool that wrote the kubeconfig';

/** Throws NodepoolError (input) for an unknown auth-provider. */
export function authProviderOf(access: Access, surroundings: LoginSurroundings): AuthInfoSource {
  const { user, source } = access;
  const { name } = user.authProvider ?? {};
  const problem = `the auth-provider ${name} of user "${user.name}"`;
  const successor = { azure: 'kubelogin', gcp: 'gke-gcloud-auth-plugin' }[String(name)];
  if (successor !== undefined) {
    throw new NodepoolError('input', `${problem} is no more, in kubectl either`, `use the exec plugin ${successor}`);
  }
  if (name !== 'oidc') throw new NodepoolError('input', `${problem} is not known`, 'use an exec plugin');
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

  /**
   * Reads the file again: another process may have refreshed the tokens, and a refresh-token can often be used only
   * once. client-go does not.
   */
  #lastingInFile(): string | undefined {
    try {
      const user = readKubeconfigFile(this.#file)?.users.find(({ name }) => name === this.#user);
      if (user !== undefined) this.#config = configOf(user, this.#file);
    } catch {
      // It is being written, or has become invalid: keep the last config.
    }
    return this.#lasting();
  }

  async #renewed(): Promise<string> {
    try {
      return await this.#refresh();
    } catch (error) {
      // Another process may have refreshed them at the same time.
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
      throw this.#error(`its token cannot be refreshed: ${(error as Error).message}`, error);
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
      throw this.#error(problem, error, `mend that, then ${LOG_IN}`);
    }
    this.#config = renewed;
    return idToken;
  }

  #error(problem: string, cause?: unknown, next = LOG_IN): NodepoolError {
    const message = `the auth-provider oidc gave no credentials for user "${this.#user}": ${problem}`;
    return new NodepoolError('cluster', message, next, { cause, isGeneral: true });
  }
}

// Writes refreshed tokens to the kubeconfig that they come from. As kubectl, it rewrites the file without its comments.

/** kubectl holds the lock during a write. */
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 50;

/**
 * Does nothing if the file no longer has the user. Throws Error, or an error of node:fs; the file is then unchanged.
 * @param config the new config of the user's auth-provider
 */
export async function persistTokens(file: string, user: string, config: Record<string, string>): Promise<void> {
  // Resolved once: a user with write access to the folder could replace the file by a link at any time.
  const target = await realpath(file);
  // The lock of kubectl.
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

/** Waits for the lock: a refresh-token that can be used once must not be lost. */
async function take(lock: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await (await open(lock, 'wx', 0o600)).close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (tries === LOCK_TRIES)
        throw new Error(`${lock} is there: kubectl writes it, or was killed and left that file`);
    }
    await sleep(systemClock, LOCK_WAIT_MS);
  }
}

interface Original {
  text: string;
  stats: BigIntStats;
}

function read(file: string): Original {
  const { descriptor, stats } = openItself(file, constants.O_RDONLY);
  try {
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Replaces the file atomically, with its owner, group and mode.
 * @param original of the file that was read; it may have been replaced since
 */
async function replace(file: string, text: string, original: BigIntStats): Promise<void> {
  // Unpredictable, and not that of an earlier process with the same id, as 1 in containers.
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
      // After chown: the group that it had before must not read it.
      if (isSame) await handle.chmod(Number(original.mode) & 0o777);
    } finally {
      await handle.close();
    }
    if (isSame) return await rename(next, file);
    // The file has another owner, which chown cannot set: overwrite it in place, as kubectl.
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

/** Does not follow links. */
function openItself(file: string, flags: number) {
  try {
    // Windows has no O_NOFOLLOW; links need a privilege there.
    return openRegularFile(file, flags | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? replaced(file) : error;
  }
}

function replaced(file: string): Error {
  return new Error(`${file} was replaced by another file or a link meanwhile`);
}
