/** One kubeconfig file, read and checked. Paths in it are relative to its folder and leave here absolute. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { load, YAMLException } from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';

export interface ClusterEntry {
  name: string;
  /** Empty when the file names none. */
  server: string;
  caFile?: string;
  /** base64, as in the file. */
  caData?: string;
  skipTlsVerify: boolean;
  disableCompression?: true;
  tlsServerName?: string;
  proxyUrl?: string;
}

export interface UserEntry {
  name: string;
  certFile?: string;
  certData?: string;
  keyFile?: string;
  keyData?: string;
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  as?: string;
  asGroups?: string[];
  /** An exec plugin's section, as it stands in the file. */
  exec?: Record<string, unknown>;
  /** A legacy auth-provider's section (oidc, azure, gcp), as it stands in the file. */
  authProvider?: Record<string, unknown>;
}

export interface ContextEntry {
  name: string;
  cluster: string;
  user: string;
}

export interface KubeconfigFile {
  currentContext: string | undefined;
  clusters: ClusterEntry[];
  users: UserEntry[];
  contexts: ContextEntry[];
}

type Section = Record<string, unknown>;

/** Undefined when there is no such file. Throws NodepoolError, naming the file and where it can the line. */
export function readKubeconfigFile(file: string): KubeconfigFile | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new NodepoolError(
      'input',
      `cannot read the kubeconfig ${file}: ${readProblem(error)}`,
      'choose another with --kubeconfig',
      {
        cause: error,
      },
    );
  }
  return parseKubeconfig(text, file);
}

/** Why a file cannot be read, in words. */
export function readProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a directory';
    default:
      return message;
  }
}

/** `file` names the text in errors and is what its relative paths are relative to. */
export function parseKubeconfig(text: string, file: string): KubeconfigFile {
  const root = parseYaml(text, file);
  const folder = path.dirname(path.resolve(file));
  const at = (value: unknown) => (isText(value) ? path.resolve(folder, value) : undefined);
  return {
    currentContext: optionalText(root['current-context']),
    clusters: entries(root, 'clusters', 'cluster', file).map(({ name, body }) =>
      defined({
        name,
        server: (optionalText(body.server) ?? '').replace(/\/+$/, ''),
        caFile: at(body['certificate-authority']),
        caData: optionalText(body['certificate-authority-data']),
        skipTlsVerify: body['insecure-skip-tls-verify'] === true,
        disableCompression: body['disable-compression'] === true ? true : undefined,
        tlsServerName: optionalText(body['tls-server-name']),
        proxyUrl: optionalText(body['proxy-url']),
      }),
    ),
    users: entries(root, 'users', 'user', file).map(({ name, body }) =>
      defined({
        name,
        certFile: at(body['client-certificate']),
        certData: optionalText(body['client-certificate-data']),
        keyFile: at(body['client-key']),
        keyData: optionalText(body['client-key-data']),
        token: optionalText(body.token),
        tokenFile: at(body.tokenFile),
        username: optionalText(body.username),
        password: optionalText(body.password),
        as: optionalText(body.as),
        asGroups: Array.isArray(body['as-groups']) ? body['as-groups'].filter(isText) : undefined,
        exec: isSection(body.exec) ? withCommandIn(folder, body.exec) : undefined,
        authProvider: isSection(body['auth-provider']) ? body['auth-provider'] : undefined,
      }),
    ),
    contexts: entries(root, 'contexts', 'context', file).map(({ name, body }) => ({
      name,
      cluster: optionalText(body.cluster) ?? '',
      user: optionalText(body.user) ?? '',
    })),
  };
}

function parseYaml(text: string, file: string): Section {
  let root: unknown;
  try {
    root = text.trim() === '' ? {} : load(text);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? '' : ` line ${error.mark.line + 1}:`;
    throw malformed(file, `${line} ${error.reason}`.trimStart(), error);
  }
  if (root === null || root === undefined) return {};
  if (!isSection(root)) throw malformed(file, 'it is not a mapping');
  return root;
}

function entries(root: Section, list: string, member: string, file: string) {
  const items = root[list] ?? [];
  if (!Array.isArray(items)) throw malformed(file, `${list} is not a list`);
  return items.map((item: unknown, index) => {
    const where = `${list}[${index}]`;
    if (!isSection(item)) throw malformed(file, `${where} is not a mapping`);
    if (!isText(item.name)) throw malformed(file, `${where}.name is missing`);
    const body = item[member] ?? {};
    if (!isSection(body)) throw malformed(file, `${where}.${member} is not a mapping`);
    return { name: item.name, body };
  });
}

/** As client-go: a command with a slash is relative to the file, one without is looked up in PATH. */
function withCommandIn(folder: string, exec: Section): Section {
  const { command } = exec;
  return isText(command) && /[/\\]/.test(command) ? { ...exec, command: path.resolve(folder, command) } : exec;
}

function malformed(file: string, problem: string, cause?: unknown): NodepoolError {
  return new NodepoolError(
    'input',
    `the kubeconfig ${file} is malformed: ${problem}`,
    'correct the file or choose another with --kubeconfig',
    { cause },
  );
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function optionalText(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}

/** Without the members that are undefined. */
function defined<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
