/** Reads and validates one kubeconfig file. Its paths are resolved against its folder. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CORE_SCHEMA, loadAll, mergeTag, YAMLException } from 'js-yaml';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined, isObject } from '../../nodepool/json.ts';
import { checkExpanded, checkLength } from '../../nodepool/spec/text-limits.ts';
import { decodeText } from '../../nodepool/text.ts';

export interface ClusterEntry {
  name: string;
  /** Empty if the file has none. */
  server: string;
  caFile?: string;
  /** base64, as in the file. */
  caData?: string;
  skipTlsVerify: boolean;
  disableCompression?: true;
  tlsServerName?: string;
  proxyUrl?: string;
  /** The extension `client.authentication.k8s.io/exec`, for exec plugins. */
  execExtension?: unknown;
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
  asUid?: string;
  asGroups?: string[];
  asUserExtra?: Record<string, string[]>;
  /** The section of an exec plugin, not validated. */
  exec?: Record<string, unknown>;
  /** The section of a legacy auth-provider, not validated. */
  authProvider?: Record<string, unknown>;
  /** The file of this entry, to which an auth-provider's new tokens are written. */
  file?: string;
}

export interface ContextEntry {
  name: string;
  cluster: string;
  user: string;
  namespace: string | undefined;
}

export interface KubeconfigFile {
  currentContext: string | undefined;
  clusters: ClusterEntry[];
  users: UserEntry[];
  contexts: ContextEntry[];
}

/** Undefined if the file does not exist. Throws NodepoolError that names the file and, if known, the line. */
export function readKubeconfigFile(file: string): KubeconfigFile | undefined {
  let text: string;
  try {
    text = decodeText(readFileSync(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new NodepoolError(
      'input',
      `cannot read the kubeconfig ${file}: ${readProblem(error)}`,
      'use another file with --kubeconfig',
      {
        cause: error,
      },
    );
  }
  return parseKubeconfig(text, file);
}

/** The reason why a file cannot be read. */
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

/** @param file for errors and relative paths */
export function parseKubeconfig(text: string, file: string): KubeconfigFile {
  const root = parseYaml(text, file);
  const folder = path.dirname(path.resolve(file));
  const head = new SectionFields(root, '', file);
  const kind = head.text('kind') ?? 'Config';
  const apiVersion = head.text('apiVersion') ?? 'v1';
  if (kind !== 'Config' || apiVersion !== 'v1') {
    throw malformed(file, `it is a ${kind} of ${apiVersion}, not a Config of v1`);
  }
  return {
    currentContext: head.text('current-context'),
    clusters: entries(root, 'clusters', 'cluster', file).map(({ name, fields }) =>
      defined({
        name,
        server: fields.text('server') ?? '',
        caFile: fields.path('certificate-authority', folder),
        caData: fields.text('certificate-authority-data'),
        skipTlsVerify: fields.flag('insecure-skip-tls-verify'),
        disableCompression: fields.flag('disable-compression') ? (true as const) : undefined,
        tlsServerName: fields.text('tls-server-name'),
        proxyUrl: fields.text('proxy-url'),
        execExtension: extensionOf(fields.body.extensions, 'client.authentication.k8s.io/exec'),
      }),
    ),
    users: entries(root, 'users', 'user', file).map(({ name, fields }) =>
      defined({
        name,
        certFile: fields.path('client-certificate', folder),
        certData: fields.text('client-certificate-data'),
        keyFile: fields.path('client-key', folder),
        keyData: fields.text('client-key-data'),
        token: fields.text('token'),
        tokenFile: fields.path('tokenFile', folder),
        username: fields.text('username'),
        password: fields.text('password'),
        as: fields.text('as'),
        asUid: fields.text('as-uid'),
        asGroups: fields.texts('as-groups'),
        asUserExtra: fields.lists('as-user-extra'),
        exec: withCommandIn(folder, fields.section('exec')),
        authProvider: fields.section('auth-provider'),
        file,
      }),
    ),
    contexts: entries(root, 'contexts', 'context', file).map(({ name, fields }) => ({
      name,
      cluster: fields.text('cluster') ?? '',
      user: fields.text('user') ?? '',
      namespace: fields.text('namespace'),
    })),
  };
}

function parseYaml(text: string, file: string): KubeconfigSection {
  let root: unknown;
  try {
    // As kubectl, uses the first of several documents.
    [root] = documentsIn(text);
  } catch (error) {
    const { mark, reason } =
      error instanceof YAMLException ? error : { mark: undefined, reason: (error as Error).message };
    throw malformed(file, mark === undefined ? reason : `line ${mark.line + 1}: ${reason}`, error);
  }
  if (root === null || root === undefined) return {};
  if (!isObject(root)) throw malformed(file, 'it is not a mapping');
  return root;
}

/** As kubectl, rejects duplicate names in one file. */
function entries(root: KubeconfigSection, list: string, member: string, file: string) {
  const items = root[list] ?? [];
  if (!Array.isArray(items)) throw malformed(file, `${list} is not a list`);
  const names = new Set<string>();
  return items.map((item: unknown, index) => {
    const where = `${list}[${index}]`;
    if (!isObject(item)) throw malformed(file, `${where} is not a mapping`);
    if (!isText(item.name)) throw malformed(file, `${where}.name is missing`);
    if (names.has(item.name)) throw malformed(file, `${list} has the name "${item.name}" twice`);
    names.add(item.name);
    const body = item[member] ?? {};
    if (!isObject(body)) throw malformed(file, `${where}.${member} is not a mapping`);
    return { name: item.name, fields: new SectionFields(body, `${where}.${member}.`, file) };
  });
}

/** As in client-go, a command with a slash is relative to the file; any other command is looked up in PATH. */
function withCommandIn(folder: string, exec: KubeconfigSection | undefined): KubeconfigSection | undefined {
  const command = exec?.command;
  if (!isText(command) || !command.includes(path.sep) || path.isAbsolute(command)) return exec;
  return { ...exec, command: path.join(folder, command) };
}

function extensionOf(extensions: unknown, name: string): unknown {
  if (!Array.isArray(extensions)) return undefined;
  return extensions.filter(isObject).find(extension => extension.name === name)?.extension ?? undefined;
}

// Parsing of kubeconfig and kuberc: YAML, and typed fields of a kubeconfig's sections. A value of a wrong type is an
// error.

/** As in kubectl's parser, with the merge key `<<`. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

export type KubeconfigSection = Record<string, unknown>;

/** Typed fields of a section. As in kubectl, null, an empty string and an empty list count as absent. */
export class SectionFields {
  readonly body: KubeconfigSection;
  readonly #where: string;
  readonly #file: string;

  constructor(body: KubeconfigSection, where: string, file: string) {
    this.body = body;
    this.#where = where;
    this.#file = file;
  }

  text(name: string): string | undefined {
    return this.#checked(name, 'a string', value => typeof value === 'string') as string | undefined;
  }

  /** Resolved against the file's folder. */
  path(name: string, folder: string): string | undefined {
    const value = this.text(name);
    return value === undefined || path.isAbsolute(value) ? value : path.join(folder, value);
  }

  flag(name: string): boolean {
    return this.#checked(name, 'true or false', value => typeof value === 'boolean') === true;
  }

  texts(name: string): string[] | undefined {
    const texts = this.#checked(name, 'a list of strings', isTexts) as string[] | undefined;
    return texts?.length ? texts : undefined;
  }

  lists(name: string): Record<string, string[]> | undefined {
    const isLists = (value: unknown) => isObject(value) && Object.values(value).every(isTexts);
    return this.#checked(name, 'a mapping of lists of strings', isLists) as Record<string, string[]> | undefined;
  }

  section(name: string): KubeconfigSection | undefined {
    return this.#checked(name, 'a mapping', isObject) as KubeconfigSection | undefined;
  }

  #checked(name: string, what: string, isRight: (value: unknown) => boolean): unknown {
    const value = this.body[name] ?? undefined;
    if (value === undefined || value === '') return undefined;
    if (!isRight(value)) throw malformed(this.#file, `${this.#where}${name} is not ${what}`);
    return value;
  }
}

/** Throws YAMLException, or Error if a limit of size, depth or aliases is exceeded. */
export function documentsIn(text: string): unknown[] {
  checkLength(text);
  const documents = loadAll(text.replace(/^\uFEFF/, ''), { schema: SCHEMA });
  // Only aliases can expand.
  if (text.includes('*')) checkExpanded(documents);
  return documents;
}

export function malformed(file: string, problem: string, cause?: unknown): NodepoolError {
  return new NodepoolError(
    'input',
    `the kubeconfig ${file} is malformed: ${problem}`,
    'correct the file or use another file with --kubeconfig',
    { cause },
  );
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string');
}

// Opens untrusted paths: only regular files, without blocking on a FIFO.

/** Returns the stats of the open file. Throws an error of node:fs, or Error with its kind. @param flags for open(2) */
export function openRegularFile(
  file: string,
  flags: number = constants.O_RDONLY,
): { descriptor: number; stats: BigIntStats } {
  // Without O_NONBLOCK, opening a FIFO blocks until there is a writer. Windows has no such flag.
  const descriptor = openSync(file, flags | (constants.O_NONBLOCK ?? 0));
  const stats = fstatSync(descriptor, { bigint: true });
  if (stats.isFile()) return { descriptor, stats };
  closeSync(descriptor);
  throw new Error(`it is ${kindOf(stats)}, not a regular file`);
}

function kindOf(stats: BigIntStats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'a special file';
}
