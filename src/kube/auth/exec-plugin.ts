/**
 * Credentials from an exec plugin, as client-go's plugin/pkg/client/auth/exec: cached until their expirationTimestamp
 * or a 401.
 *
 * Not guaranteed: that concurrent callers share a run. Sessions and watchedLogin do that.
 */

import path from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import type { AuthInfo, AuthInfoSource, LoginSurroundings } from './auth-info.ts';
import { type ExecConfig, execConfigOf } from './exec-config.ts';
import { execInfo } from './exec-info.ts';
import { type Found, lookPath } from './exec-path.ts';
import { checkPolicy } from './exec-policy.ts';
import { runPlugin } from './exec-run.ts';
import type { Access } from './kubeconfig.ts';
import { documentsIn, isText, type Section } from './kubeconfig-fields.ts';
import { readPluginPolicy } from './kuberc.ts';

interface Kept {
  authInfo: AuthInfo;
  /** Milliseconds since 1970; infinite without an expirationTimestamp. */
  until: number;
}

export class ExecPlugin implements AuthInfoSource {
  readonly #access: Access;
  readonly #ca: Buffer | undefined;
  readonly #surroundings: LoginSurroundings;
  readonly #config: ExecConfig;
  #kept: Kept | undefined;

  /**
   * Throws NodepoolError if the section is invalid.
   * @param ca content of the cluster's certificate-authority
   */
  constructor(access: Access, ca: Buffer | undefined, surroundings: LoginSurroundings) {
    this.#access = access;
    this.#ca = ca;
    this.#surroundings = surroundings;
    this.#config = execConfigOf(access);
  }

  async authInfo({ refused }: { refused: boolean }): Promise<AuthInfo> {
    if (this.#kept === undefined || refused || this.#surroundings.now() > this.#kept.until) {
      this.#kept = await this.#run();
    }
    return this.#kept.authInfo;
  }

  async #run(): Promise<Kept> {
    const { command, args, env: own } = this.#config;
    const { env } = this.#surroundings;
    const found = lookPath(command, env);
    checkPolicy(readPluginPolicy(this.#surroundings), command, found, env);
    const interactive = this.#isInteractive();
    const info = execInfo(this.#config, this.#access.cluster, this.#ca, interactive);
    const run = { file: this.#file(found), args, env: { ...env, ...own, KUBERNETES_EXEC_INFO: info }, interactive };
    const ended = await runPlugin(run, this.#surroundings);
    if ('failed' in ended) throw this.#error(`it ${ended.failed}`, 'see what it said, and log in again with that tool');
    return this.#checked(ended.stdout);
  }

  #file(found: Found): string {
    if ('path' in found) return found.path;
    const { command, installHint } = this.#config;
    if ('inCurrentFolder' in found) {
      const problem = `PATH leads to it by a relative folder, as ${found.inCurrentFolder}`;
      throw this.#error(problem, 'write its whole path in the kubeconfig if that is meant');
    }
    const where = path.basename(command) === command ? 'it is not in PATH' : 'there is no such program';
    // Hints often have several lines; an error has one.
    const hint = installHint?.trim().replace(/\s+/g, ' ');
    throw this.#error(where, hint ?? 'install it, or correct its command in the kubeconfig');
  }

  /** Whether the plugin gets stdin: a terminal that was not read by `-f -`. */
  #isInteractive(): boolean {
    const { stdinIsTTY, stdinIsSpent } = this.#surroundings.terminal;
    switch (this.#config.interactiveMode) {
      case 'Never':
        return false;
      case 'IfAvailable':
        return stdinIsTTY && !stdinIsSpent();
      case 'Always':
        if (stdinIsTTY && !stdinIsSpent()) return true;
        throw this.#error(
          stdinIsTTY ? 'it must ask you, and stdin was read by -f -' : 'it must ask you, and stdin is not a terminal',
          'log in with that tool first, or run this in a terminal',
        );
    }
  }

  #checked(stdout: string): Kept {
    const { apiVersion } = this.#config;
    const answer = parse(stdout);
    if (answer?.kind !== 'ExecCredential') throw this.#wrong('what it printed is no ExecCredential');
    if (answer.apiVersion !== apiVersion) {
      throw this.#wrong(`it answered in ${answer.apiVersion}, and was asked in ${apiVersion}`);
    }
    const { status } = answer;
    if (!isObject(status)) throw this.#wrong('its ExecCredential has no status');
    const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map(name =>
      this.#text(status, name),
    );
    if (token === undefined && cert === undefined && key === undefined) {
      throw this.#wrong('its status has neither a token nor a certificate');
    }
    if ((cert === undefined) !== (key === undefined)) {
      throw this.#wrong('its status has only one of clientCertificateData and clientKeyData');
    }
    const authorization = token === undefined ? undefined : `Bearer ${token}`;
    return { authInfo: { cert, key, authorization }, until: this.#expiry(status) };
  }

  #text(status: Section, name: string): string | undefined {
    const value = status[name];
    if (typeof value !== 'string' && value !== undefined && value !== null) {
      throw this.#wrong(`its status.${name} is not a string`);
    }
    return isText(value) ? value : undefined;
  }

  #expiry({ expirationTimestamp: time }: Section): number {
    if (time === undefined || time === null) return Number.POSITIVE_INFINITY;
    // RFC 3339: Date.parse() would read a time without a zone as local time.
    const isTime = typeof time === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(time);
    const until = isTime ? Date.parse(time) : Number.NaN;
    if (Number.isNaN(until))
      throw this.#wrong('its status.expirationTimestamp is not a time like 2030-01-31T12:00:00Z');
    return until;
  }

  #wrong(problem: string): NodepoolError {
    return this.#error(problem, 'correct or update the plugin');
  }

  #error(problem: string, next: string): NodepoolError {
    const message = `the plugin ${this.#config.command} gave no credentials for user "${this.#access.user.name}": ${problem}`;
    return new NodepoolError('cluster', message, next, { isGeneral: true });
  }
}

/** As client-go, accepts JSON and YAML. */
function parse(text: string): Section | undefined {
  for (const read of [JSON.parse, (yaml: string) => documentsIn(yaml)[0]]) {
    try {
      const value: unknown = read(text);
      return isObject(value) ? value : undefined;
    } catch {
      // Try the next format.
    }
  }
  return undefined;
}
