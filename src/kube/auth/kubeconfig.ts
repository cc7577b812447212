/** Chooses the cluster and user, by kubectl's rules for finding, merging and overriding kubeconfig files. */
import { existsSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined, ownValue, setOwn } from '../../nodepool/json.ts';
import { withoutLogin } from '../proxy/proxy.ts';
import {
  type ClusterEntry,
  type ContextEntry,
  type KubeconfigFile,
  readKubeconfigFile,
  type UserEntry,
} from './kubeconfig-file.ts';

/** The flags that choose the cluster and user, and override their fields. */
export interface AccessOptions {
  /** Read in place of KUBECONFIG and ~/.kube/config. Must exist. */
  kubeconfig?: string;
  context?: string;
  cluster?: string;
  user?: string;
  as?: string;
  asUid?: string;
  asGroup?: string[];
  /** In the form `KEY=VALUE`. */
  asUserExtra?: string[];
  env: Record<string, string | undefined>;
  server?: string;
  tlsServerName?: string;
  /** Files; relative to the working directory. */
  certificateAuthority?: string;
  clientCertificate?: string;
  clientKey?: string;
  insecureSkipTlsVerify?: boolean;
  disableCompression?: boolean;
  token?: string;
}

/** The chosen cluster and user. */
export interface ClusterAccess {
  /** Name of the context, if any. */
  context?: string | undefined;
  /** Namespace of the context, if any. */
  namespace?: string | undefined;
  cluster: ClusterEntry;
  user: UserEntry;
  /** For errors: a file, a list of files, or `the service account`. */
  source: string;
  /** The credentials are those of a pod. */
  isInCluster?: boolean;
  /** The address comes from --server. */
  isServerFlag?: boolean;
  /** The name in the server's certificate comes from --tls-server-name. */
  isNameFlag?: boolean;
}

/** Where the server's address is configured, for errors. */
export function addressPlace({ cluster, source, isServerFlag }: ClusterAccess): string {
  return isServerFlag ? '--server' : `server of cluster "${cluster.name}" in ${source}`;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Throws NodepoolError (input) that names the files read and the flag to set. */
export function loadAccess(options: AccessOptions): ClusterAccess {
  checkOverrides(options);
  const { files, missing } = readFiles(options);
  const source = files.map(({ file }) => file).join(', ') || 'the command line';
  const merged = mergeKubeconfigs(files.map(({ content }) => content));
  const access =
    isEmpty(merged) && options.kubeconfig === undefined && options.server === undefined
      ? inCluster(options, missing.length > 0 ? missing : files.map(({ file }) => file))
      : { ...choose(merged, options, source), source };
  const [isServerFlag, isNameFlag] = [options.server !== undefined, options.tlsServerName !== undefined];
  return { ...access, user: impersonate(access.user, options), isServerFlag, isNameFlag };
}

/** The names of all entries. Throws NodepoolError (input) if a file cannot be read. */
export function accessNames(options: AccessOptions): AccessNames {
  const { contexts, clusters, users } = mergeKubeconfigs(readFiles(options).files.map(({ content }) => content));
  const names = (entries: { name: string }[]) => entries.map(({ name }) => name);
  return { contexts: names(contexts), clusters: names(clusters), users: names(users) };
}

/** As kubectl merges a KUBECONFIG list: the first entry of a name wins, and the first current-context. */
function mergeKubeconfigs(files: KubeconfigFile[]): KubeconfigFile {
  const firsts = <T extends { name: string }>(items: T[]) =>
    [...new Map(items.toReversed().map(item => [item.name, item])).values()].toReversed();
  return {
    currentContext: files.find(file => file.currentContext !== undefined)?.currentContext,
    clusters: firsts(files.flatMap(file => file.clusters)),
    users: firsts(files.flatMap(file => file.users)),
    contexts: firsts(files.flatMap(file => file.contexts)),
  };
}

function readFiles({ kubeconfig, env }: AccessOptions) {
  const candidates = kubeconfig === undefined ? defaultFiles(env) : [kubeconfig];
  const read = candidates.map(file => ({ file, content: readKubeconfigFile(file) }));
  const files = read.filter((one): one is { file: string; content: KubeconfigFile } => one.content !== undefined);
  const missing = read.filter(one => one.content === undefined).map(one => one.file);
  if (kubeconfig === '') {
    throw new NodepoolError('usage', '--kubeconfig: the path is empty', 'check for an unset shell variable');
  }
  if (kubeconfig !== undefined && files.length === 0) {
    throw new NodepoolError('input', `--kubeconfig: no such file: ${kubeconfig}`, 'check the path');
  }
  return { files, missing };
}

function defaultFiles(env: AccessOptions['env']): string[] {
  if (env.KUBECONFIG) return [...new Set(env.KUBECONFIG.split(path.delimiter).filter(file => file !== ''))];
  const home = env.HOME || env.USERPROFILE;
  return home ? [path.join(home, '.kube', 'config')] : [];
}

function isEmpty({ clusters, users, contexts }: KubeconfigFile): boolean {
  return clusters.length + users.length + contexts.length === 0;
}

function choose(config: KubeconfigFile, options: AccessOptions, source: string): Omit<ClusterAccess, 'source'> {
  const context = chooseContext(config, options, source);
  const clusterName = options.cluster ?? context?.cluster ?? '';
  const userName = options.user ?? context?.user ?? '';
  const of = context === undefined ? '' : ` of context "${context.name}"`;
  const found = config.clusters.find(({ name }) => name === clusterName);
  const { server } = options;
  // As in kubectl, --server needs no cluster in the file, unless a cluster is named.
  const isFromFlag = clusterName === '' && server !== undefined;
  const named = found ?? (isFromFlag ? { name: server, server, skipTlsVerify: false } : undefined);
  if (named === undefined) {
    const flag = options.cluster === undefined ? `the cluster "${clusterName}"${of}` : `--cluster: "${clusterName}"`;
    throw unknown(`${flag} is not in ${source}`, 'clusters', config.clusters, '--cluster');
  }
  const cluster = withAddress(overrideCluster(named, options), source);
  const user = config.users.find(({ name }) => name === userName);
  const { token, clientCertificate, clientKey } = options;
  const hasLogin = (token ?? clientCertificate ?? clientKey) !== undefined;
  // As in kubectl: a context without a user is anonymous; credential flags replace a user that is not in the file.
  const isOptional = userName === '' || (hasLogin && options.user === undefined);
  const entry = user ?? (isOptional ? { name: userName } : undefined);
  if (entry !== undefined) {
    const namespace = context?.namespace === '' ? undefined : context?.namespace;
    return { context: context?.name, namespace, cluster, user: overrideUser(entry, options) };
  }
  const flag = options.user === undefined ? `the user "${userName}"${of}` : `--user: "${userName}"`;
  throw unknown(`${flag} is not in ${source}`, 'users', config.users, '--user');
}

/** As in client-go, an address without a scheme (`host:port`) means plain HTTP. */
function withAddress(cluster: ClusterEntry, source: string): ClusterEntry {
  const { name, server, caFile, caData, skipTlsVerify } = cluster;
  const trusts = {
    'certificate-authority': caFile !== undefined,
    'certificate-authority-data': caData !== undefined,
    'insecure-skip-tls-verify': skipTlsVerify,
  };
  const [one, other] = Object.entries(trusts).flatMap(([field, isSet]) => (isSet ? [field] : []));
  if (other !== undefined) {
    throw new NodepoolError(
      'input',
      `cluster "${name}" in ${source} has both ${one} and ${other}`,
      'keep one of the two',
    );
  }
  const plain = `http://${server}`;
  const isPlain = !isAddress(server) && /^[^/]*:\d+\/*$/.test(server) && isAddress(plain);
  if (!isPlain && !isAddress(server)) {
    throw new NodepoolError(
      'input',
      `the server "${withoutLogin(server)}" of cluster "${name}" in ${source} is not an address`,
      'write it like https://host:6443',
    );
  }
  const { username, password } = new URL(isPlain ? plain : server);
  // Rejected, because errors and logs contain the address.
  if (username !== '' || password !== '') {
    throw new NodepoolError(
      'input',
      `the server address of cluster "${name}" in ${source} contains a login`,
      'move the login to username and password of the user',
    );
  }
  return isPlain ? { ...cluster, server: plain } : cluster;
}

function isAddress(server: string): boolean {
  return /^https?:$/.test(URL.parse(server)?.protocol ?? '');
}

function chooseContext(config: KubeconfigFile, options: AccessOptions, source: string): ContextEntry | undefined {
  const name = options.context ?? config.currentContext;
  const context = config.contexts.find(one => one.name === name);
  if (context !== undefined) return context;
  if (name !== undefined) {
    const flag = options.context === undefined ? `the current context "${name}"` : `--context: "${name}"`;
    throw unknown(`${flag} is not in ${source}`, 'contexts', config.contexts, '--context');
  }
  if (options.cluster !== undefined || options.server !== undefined) return undefined;
  throw unknown(`no current context is set in ${source}`, 'contexts', config.contexts, '--context');
}

function unknown(problem: string, kind: string, known: { name: string }[], flag: string): NodepoolError {
  const names = known.map(({ name }) => name).toSorted();
  return names.length === 0
    ? new NodepoolError('input', `${problem}, which has no ${kind}`, 'use another file with --kubeconfig')
    : new NodepoolError('input', problem, `use one of its ${kind} with ${flag}: ${names.join(', ')}`);
}

function inCluster(options: AccessOptions, lookedAt: string[]): ClusterAccess {
  const { env } = options;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  const tokenFile = `${SERVICE_ACCOUNT}/token`;
  if (!host || !port || !existsSync(tokenFile)) {
    const none = env.KUBECONFIG ? 'KUBECONFIG contains no file name' : 'HOME is not set';
    const files = lookedAt.length === 0 ? none : `looked at ${lookedAt.join(', ')}`;
    throw new NodepoolError(
      'input',
      `no kubeconfig found (${files}; not inside a cluster)`,
      'use --kubeconfig FILE, or set KUBECONFIG',
    );
  }
  const cluster = {
    name: 'in-cluster',
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    caFile: `${SERVICE_ACCOUNT}/ca.crt`,
    skipTlsVerify: false,
  };
  return {
    cluster: overrideCluster(cluster, options),
    user: overrideUser({ name: 'service account', tokenFile }, options),
    source: 'the service account',
    isInCluster: true,
  };
}

/** As in kubectl, flags override the fields of the file; extras are merged by key. */
function impersonate(user: UserEntry, { as, asUid, asGroup, asUserExtra }: AccessOptions): UserEntry {
  const fromFlags = {
    ...(as ? { as } : {}),
    ...(asUid ? { asUid } : {}),
    ...(asGroup?.length ? { asGroups: asGroup } : {}),
    ...(asUserExtra?.length ? { asUserExtra: { ...user.asUserExtra, ...extrasOf(asUserExtra) } } : {}),
  };
  const all = { ...user, ...fromFlags };
  if (all.as !== undefined) return all;
  const flags = { asGroups: '--as-group', asUid: '--as-uid', asUserExtra: '--as-user-extra' };
  for (const [name, flag] of Object.entries(flags)) {
    if (name in fromFlags) throw new NodepoolError('usage', `${flag} needs a user to impersonate`, 'add --as USER');
    if (!(name in all)) continue;
    const field = { asGroups: 'as-groups', asUid: 'as-uid', asUserExtra: 'as-user-extra' }[name];
    const problem = `user "${user.name}" in the kubeconfig has ${field} but no user to impersonate`;
    throw new NodepoolError('input', problem, 'add `as` to that user, or use --as USER');
  }
  return all;
}

function extrasOf(flags: string[]): Record<string, string[]> {
  const extras: Record<string, string[]> = {};
  for (const flag of flags) {
    const [, key, value = ''] = /^([^=]+)=(.*)$/s.exec(flag) ?? [];
    if (key === undefined) throw new NodepoolError('usage', `--as-user-extra "${flag}" is not KEY=VALUE`);
    setOwn(extras, key, [...(ownValue(extras, key) ?? []), value]);
  }
  return extras;
}

// The flags that override fields of the chosen cluster and user, by client-go's rules (clientcmd's ConfigOverrides).

/** The flags with a value. kubectl ignores an empty value; here it is an error, as a script's variable may be unset. */
const VALUES: Record<string, keyof AccessOptions> = {
  '--server': 'server',
  '--tls-server-name': 'tlsServerName',
  '--certificate-authority': 'certificateAuthority',
  '--client-certificate': 'clientCertificate',
  '--client-key': 'clientKey',
  '--token': 'token',
};

/** Throws NodepoolError (usage) for an empty value, and for two flags that cannot be used together. */
function checkOverrides(overrides: AccessOptions): void {
  for (const [flag, name] of Object.entries(VALUES)) {
    if (overrides[name] === '')
      throw new NodepoolError('usage', `${flag}: the value is empty`, 'check for an unset shell variable');
  }
  if (overrides.insecureSkipTlsVerify === true && overrides.certificateAuthority !== undefined) {
    throw new NodepoolError(
      'usage',
      '--certificate-authority and --insecure-skip-tls-verify cannot be used together',
      'keep one of the two',
    );
  }
}

/** As in client-go: --server drops the file's tls-server-name, a trust flag drops all trust settings of the file. */
function overrideCluster(cluster: ClusterEntry, overrides: AccessOptions): ClusterEntry {
  const { server, tlsServerName, certificateAuthority, insecureSkipTlsVerify, disableCompression } = overrides;
  const { caFile, caData, tlsServerName: named, ...rest } = cluster;
  const isTrustGiven = certificateAuthority !== undefined || insecureSkipTlsVerify === true;
  const trust = isTrustGiven
    ? { caFile: certificateAuthority, caData: undefined, skipTlsVerify: insecureSkipTlsVerify === true }
    : { caFile, caData };
  return defined({
    ...rest,
    ...trust,
    server: server ?? cluster.server,
    tlsServerName: tlsServerName ?? (server === undefined ? named : undefined),
    disableCompression: disableCompression === true ? (true as const) : cluster.disableCompression,
  }) as ClusterEntry;
}

/** As in client-go, a token replaces a plugin. A certificate stays, and the server checks it first. */
function overrideUser(user: UserEntry, { token, clientCertificate, clientKey }: AccessOptions): UserEntry {
  const { certFile, certData, keyFile, keyData, ...others } = user;
  const { tokenFile, exec, authProvider, username, password, ...rest } = others;
  return defined({
    ...(token === undefined ? others : { ...rest, token }),
    ...(clientCertificate === undefined ? { certFile, certData } : { certFile: clientCertificate }),
    ...(clientKey === undefined ? { keyFile, keyData } : { keyFile: clientKey }),
  }) as UserEntry;
}

export interface AccessNames {
  contexts: string[];
  clusters: string[];
  users: string[];
}
