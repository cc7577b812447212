/**
 * Credentials from an exec plugin, as client-go's plugin/pkg/client/auth/exec: cached until their expirationTimestamp
 * or a 401.
 *
 * Not guaranteed: that concurrent callers share a run. Sessions and watchedLogin do that.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { type CommandLookup, lookPath } from '../look-path.ts';
import type { AuthInfo, AuthInfoSource, LoginSurroundings } from './auth-info.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import {
  type ClusterEntry,
  documentsIn,
  isText,
  type KubeconfigSection,
  malformed,
  SectionFields,
} from './kubeconfig-file.ts';
import { type PluginPolicy, readPluginPolicy } from './kuberc.ts';

interface CachedAuthInfo {
  authInfo: AuthInfo;
  /** Milliseconds since 1970; infinite without an expirationTimestamp. */
  until: number;
}

export class ExecPlugin implements AuthInfoSource {
  readonly #access: ClusterAccess;
  readonly #ca: Buffer | undefined;
  readonly #surroundings: LoginSurroundings;
  readonly #config: ExecConfig;
  #kept: CachedAuthInfo | undefined;

  /** Throws NodepoolError if the section is invalid. @param ca content of the cluster's certificate-authority */
  constructor(access: ClusterAccess, ca: Buffer | undefined, surroundings: LoginSurroundings) {
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

  async #run(): Promise<CachedAuthInfo> {
    const { command, args, env: pluginEnv } = this.#config;
    const { env } = this.#surroundings;
    const found = lookPath(command, env);
    checkPolicy(readPluginPolicy(this.#surroundings), command, found, env);
    const interactive = this.#isInteractive();
    const info = execInfo(this.#config, this.#access.cluster, this.#ca, interactive);
    const run = {
      file: this.#file(found),
      args,
      env: { ...env, ...pluginEnv, KUBERNETES_EXEC_INFO: info },
      interactive,
    };
    const ended = await runPlugin(run, this.#surroundings);
    if ('failed' in ended)
      throw this.#error(`it ${ended.failed}`, "read the plugin's message above, then log in with that tool");
    return this.#checked(ended.stdout);
  }

  #file(found: CommandLookup): string {
    if ('path' in found) return found.path;
    const { command, installHint } = this.#config;
    if ('inCurrentFolder' in found) {
      const problem = `PATH finds it through a relative directory (${found.inCurrentFolder})`;
      throw this.#error(problem, 'to use it, write its full path in the kubeconfig');
    }
    const where = path.basename(command) === command ? 'it is not in PATH' : 'no such program';
    // Hints often have several lines; an error has one.
    const hint = installHint?.trim().replace(/\s+/g, ' ');
    throw this.#error(where, hint ?? 'install the plugin, or correct its command in the kubeconfig');
  }

  /** Whether the plugin gets stdin: stdin is a terminal, and `-f -` has not read it. */
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
          stdinIsTTY
            ? 'it needs to prompt, but -f - already uses stdin'
            : 'it needs to prompt, but stdin is not a terminal',
          'log in with that tool first, or run the command in a terminal',
        );
    }
  }

  #checked(stdout: string): CachedAuthInfo {
    const { apiVersion } = this.#config;
    const answer = parse(stdout);
    if (answer?.kind !== 'ExecCredential') throw this.#wrong('its output is not an ExecCredential');
    if (answer.apiVersion !== apiVersion) {
      throw this.#wrong(`it answered with ${answer.apiVersion} instead of ${apiVersion}`);
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

  #text(status: KubeconfigSection, name: string): string | undefined {
    const value = status[name];
    if (typeof value !== 'string' && value !== undefined && value !== null) {
      throw this.#wrong(`its status.${name} is not a string`);
    }
    return isText(value) ? value : undefined;
  }

  #expiry({ expirationTimestamp: time }: KubeconfigSection): number {
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
function parse(text: string): KubeconfigSection | undefined {
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

// KUBERNETES_EXEC_INFO, the input of an exec plugin: an ExecCredential without a status.

/** @param ca content of the cluster's certificate-authority */
function execInfo(
  { apiVersion, provideClusterInfo }: ExecConfig,
  cluster: ClusterEntry,
  ca: Buffer | undefined,
  interactive: boolean,
): string {
  const spec = { cluster: provideClusterInfo ? clusterInfo(cluster, ca) : undefined, interactive };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
}

/** `client.authentication.k8s.io/v1` Cluster. As client-go, with the proxy-url of the kubeconfig only. */
function clusterInfo(cluster: ClusterEntry, ca: Buffer | undefined) {
  const { server, tlsServerName, skipTlsVerify, proxyUrl, disableCompression, execExtension } = cluster;
  return {
    server,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': skipTlsVerify || undefined,
    'certificate-authority-data': ca?.toString('base64'),
    'proxy-url': proxyUrl,
    'disable-compression': disableCompression,
    config: execExtension ?? null,
  };
}

// Whether an exec plugin may run, by client-go's rules for credentialPluginPolicy.

/** Throws NodepoolError (input) if not. @param command as in the allowlist @param found its lookup result */
function checkPolicy(
  policy: PluginPolicy | undefined,
  command: string,
  found: CommandLookup,
  env: LoginSurroundings['env'],
): void {
  if (policy === undefined || policy.type === 'AllowAll') return;
  const { type, file, allowed } = policy;
  if (type === 'DenyAll') {
    const problem = `the plugin ${command} may not run: credentialPluginPolicy is DenyAll in ${file}`;
    throw new NodepoolError('input', problem, 'change that policy, or log in another way');
  }
  if (allowed.includes(command)) return;
  if ('path' in found && isAllowed(found.path, allowed, env)) return;
  const where = 'path' in found && found.path !== command ? ` (${found.path})` : '';
  const problem = `the plugin ${command}${where} may not run: it is not in credentialPluginAllowlist of ${file}`;
  throw new NodepoolError('input', problem, 'if you trust the plugin, add it to the allowlist');
}

/** Whether an entry is the path of the command, or is looked up to the same path. */
function isAllowed(file: string, allowed: string[], env: LoginSurroundings['env']): boolean {
  if (allowed.includes(file)) return true;
  const ofThatName = allowed.filter(entry => path.basename(entry) === path.basename(file));
  return ofThatName.some(entry => {
    const found = lookPath(entry, env);
    return 'path' in found && found.path === file;
  });
}

// One run of an exec plugin. Its stderr is the terminal; so is its stdin if the run is interactive.

interface PluginRun {
  /** An absolute path, or relative to the current folder. */
  file: string;
  args: string[];
  env: Record<string, string | undefined>;
  /** Whether it inherits stdin. */
  interactive: boolean;
}

/** `failed` follows "it" in error messages. */
type PluginEnd = { stdout: string } | { failed: string };

/** Limit of stdout in bytes; an ExecCredential with a certificate chain has some 20,000 bytes. */
const MAX_BYTES = 1024 * 1024;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves when the plugin has exited, or at once when the signal is aborted. Never rejects. */
async function runPlugin(
  { file, args, env, interactive }: PluginRun,
  { terminal, signal }: Pick<LoginSurroundings, 'terminal' | 'signal'>,
): Promise<PluginEnd> {
  const { stdin, stderr, onUse } = terminal;
  if (signal.aborted) return { failed: 'was not started' };
  const { promise, resolve } = Promise.withResolvers<PluginEnd>();
  let child: ChildProcessByStdio<null, Readable, null> | undefined;
  // Do not wait until stdout closes: the plugin's children may keep it open.
  const end = () => {
    child?.kill('SIGTERM');
    child?.stdout.destroy();
    resolve({ failed: 'was stopped' });
  };
  // Before the spawn: a signal right after it would terminate only this process.
  const release = endWithUs(end);
  try {
    const stdio = [interactive ? stdin : 'ignore', 'pipe', stderr] as const;
    child = spawn(file, args, { env, stdio: [...stdio] }) as ChildProcessByStdio<null, Readable, null>;
  } catch (error) {
    release();
    return { failed: `cannot be started: ${(error as Error).message}` };
  }
  signal.addEventListener('abort', end, { once: true });
  onUse?.(true);
  const output = outputOf(child.stdout, () => {
    resolve({ failed: `printed more than ${MAX_BYTES} bytes` });
    end();
  });
  child.on('error', error => resolve({ failed: `cannot be started: ${error.message}` }));
  child.on('close', async (code, killedBy) => {
    const stdout = (await output).toString();
    if (killedBy !== null) resolve({ failed: `was killed by ${killedBy}` });
    else resolve(code === 0 ? { stdout } : { failed: `failed with exit code ${code}` });
  });
  try {
    return await promise;
  } finally {
    onUse?.(false);
    signal.removeEventListener('abort', end);
    release();
  }
}

/** The plugin's stdout; truncated if the stream is destroyed. */
async function outputOf(stdout: Readable, onTooMuch: () => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BYTES) {
        onTooMuch();
        break;
      }
    }
  } catch {
    // The stream was destroyed.
  }
  return Buffer.concat(chunks);
}

/** Ends the plugin with this process: it may ignore SIGINT, and gets no `kill`. Returns a function to undo this. */
function endWithUs(end: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    release();
    // Without another listener, the signal terminates this process, which is the default.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.off('exit', end);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('exit', end);
  return release;
}

// The `exec` section of a kubeconfig user, validated as kubectl does.

const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'] as const;
type InteractiveMode = (typeof INTERACTIVE_MODES)[number];

interface ExecConfig {
  /** `client.authentication.k8s.io/v1` or `/v1beta1`. */
  apiVersion: string;
  /** A normalized path, as in allowlists, or a name to look up in PATH. */
  command: string;
  args: string[];
  /** Added to the environment of this process. */
  env: Record<string, string>;
  installHint: string | undefined;
  provideClusterInfo: boolean;
  interactiveMode: InteractiveMode;
}

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/** Throws NodepoolError (input) that names the user and the field. */
function execConfigOf({ user, source }: Pick<ClusterAccess, 'user' | 'source'>): ExecConfig {
  const where = `users["${user.name}"].user.exec`;
  const file = user.file ?? source;
  const fields = new SectionFields(user.exec ?? {}, `${where}.`, file);
  const apiVersion = fields.text('apiVersion');
  const command = fields.text('command');
  if (command === undefined) throw malformed(file, `${where}.command is missing`);
  if (apiVersion === undefined) throw malformed(file, `${where}.apiVersion is missing`);
  if (!VERSIONS.includes(apiVersion)) {
    throw new NodepoolError(
      'input',
      `the plugin ${command} of user "${user.name}" uses the unknown apiVersion "${apiVersion}"`,
      `install a plugin that supports ${VERSIONS.join(' or ')}, and set this apiVersion in ${file}`,
    );
  }
  return {
    apiVersion,
    command: path.normalize(command),
    args: fields.texts('args') ?? [],
    env: environmentOf(fields.body.env ?? [], where, file),
    installHint: fields.text('installHint'),
    provideClusterInfo: fields.flag('provideClusterInfo'),
    interactiveMode: interactiveModeOf(fields.text('interactiveMode'), apiVersion, where, file),
  };
}

function environmentOf(list: unknown, where: string, file: string): Record<string, string> {
  if (!Array.isArray(list)) throw malformed(file, `${where}.env is not a list`);
  const pairs = list.map((item: unknown, index): [string, string] => {
    const at = `${where}.env[${index}]`;
    if (!isObject(item)) throw malformed(file, `${at} is not a mapping`);
    const fields = new SectionFields(item, `${at}.`, file);
    const name = fields.text('name');
    if (name === undefined) throw malformed(file, `${at}.name is missing`);
    return [name, fields.text('value') ?? ''];
  });
  return Object.fromEntries(pairs);
}

/** Optional in v1beta1, whose first version did not have the field. */
function interactiveModeOf(mode: string | undefined, apiVersion: string, where: string, file: string): InteractiveMode {
  if (mode === undefined && apiVersion === `${GROUP}/v1beta1`) return 'IfAvailable';
  const known = INTERACTIVE_MODES.find(one => one === mode);
  if (known !== undefined) return known;
  const problem = mode === undefined ? 'is missing' : `"${mode}" is not known`;
  throw malformed(file, `${where}.interactiveMode ${problem}; it is one of ${INTERACTIVE_MODES.join(', ')}`);
}
