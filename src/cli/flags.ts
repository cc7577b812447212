/** The global flags, and the flags and arguments that several commands share. */
import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import type { DryRun } from '../kube/cluster.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { GLOBAL as GLOBAL_GROUP, NODE_KIND, POOL_KIND } from './completion/grammar.ts';

/** The CRD's name in messages, as kubectl prints it. */
export const CRD_NAME = 'customresourcedefinition.apiextensions.k8s.io/nodepools.nodes.lailin.xyz';

const GLOBAL = { helpGroup: GLOBAL_GROUP };
const REPEATED = { multiple: true, multipleNonGreedy: true } as const;

/** The same as kubectl's, in the order of `kubectl nodepool options`. They may also precede the command. */
export const globalFlags = {
  kubeconfig: Flags.string({ ...GLOBAL, summary: 'Path to the kubeconfig file.', helpValue: 'FILE' }),
  context: Flags.string({ ...GLOBAL, summary: 'Context of the kubeconfig to use.', helpValue: 'NAME' }),
  cluster: Flags.string({ ...GLOBAL, summary: 'Cluster of the kubeconfig to use.', helpValue: 'NAME' }),
  user: Flags.string({ ...GLOBAL, summary: 'User of the kubeconfig to use.', helpValue: 'NAME' }),
  server: Flags.string({
    ...GLOBAL,
    char: 's',
    summary: "Address of the API server; overrides the cluster's.",
    helpValue: 'URL',
  }),
  'certificate-authority': Flags.string({
    ...GLOBAL,
    summary: "Certificate file of the CA that signed the server's certificate.",
    helpValue: 'FILE',
  }),
  'insecure-skip-tls-verify': Flags.boolean({
    ...GLOBAL,
    summary: "Skip verification of the server's certificate (insecure).",
  }),
  'tls-server-name': Flags.string({
    ...GLOBAL,
    summary: 'Server name for the certificate check; overrides the host name.',
    helpValue: 'NAME',
  }),
  'disable-compression': Flags.boolean({ ...GLOBAL, summary: 'Ask for uncompressed responses.' }),
  token: Flags.string({ ...GLOBAL, summary: 'Bearer token to authenticate with.', helpValue: 'TOKEN' }),
  'client-certificate': Flags.string({ ...GLOBAL, summary: 'Client certificate file.', helpValue: 'FILE' }),
  'client-key': Flags.string({ ...GLOBAL, summary: 'Client key file.', helpValue: 'FILE' }),
  as: Flags.string({ ...GLOBAL, summary: 'User name to impersonate.', helpValue: 'USER' }),
  'as-uid': Flags.string({ ...GLOBAL, summary: 'UID to impersonate.', helpValue: 'UID' }),
  // No comma lists, as in kubectl: group names and extra values may contain commas.
  'as-group': Flags.string({
    ...GLOBAL,
    ...REPEATED,
    summary: 'Group to impersonate; repeatable.',
    helpValue: 'GROUP',
  }),
  'as-user-extra': Flags.string({
    ...GLOBAL,
    ...REPEATED,
    summary: 'Extra field of the user to impersonate; repeatable.',
    helpValue: 'KEY=VALUE',
  }),
  'request-timeout': Flags.string({
    ...GLOBAL,
    summary: 'Timeout of one request with its retries: 5s, 2m; 0 means none.',
    helpValue: 'TIME',
  }),
  'transient-keys': Flags.string({
    ...GLOBAL,
    summary: 'More keys of temporary labels and taints from other software, comma-separated.',
    helpValue: 'KEYS',
  }),
  namespace: Flags.string({
    ...GLOBAL,
    char: 'n',
    summary: 'Accepted and ignored: pools and nodes are cluster-scoped.',
    helpValue: 'NAME',
  }),
  'all-namespaces': Flags.boolean({
    ...GLOBAL,
    char: 'A',
    summary: 'Accepted and ignored by commands that only read: pools and nodes are cluster-scoped.',
  }),
  color: Flags.option({
    ...GLOBAL,
    options: ['auto', 'always', 'never'] as const,
    default: 'auto' as const,
    summary: 'Colors: auto means on a terminal; NO_COLOR and FORCE_COLOR override auto.',
    helpValue: 'auto|always|never',
  })(),
  verbosity: Flags.integer({
    ...GLOBAL,
    char: 'v',
    aliases: ['v'],
    default: 0,
    min: 0,
    summary: 'Log to stderr: 4 actions of --watch, 6 requests, 8 headers and JSON bodies, 9 stack traces.',
    helpValue: 'N',
  }),
};

type FlagText = { summary: string; helpValue?: string; helpGroup?: string; char?: 'f' | 'l' | 'L' };

/** A repeatable flag, also with comma lists (see base-command.ts): `--label a=b --label c=d`, `--label a=b,c=d`. */
export function repeatedFlag(text: FlagText) {
  return Flags.string({ ...text, ...REPEATED });
}

export const filenameFlags = {
  filename: repeatedFlag({
    char: 'f',
    summary: 'File, directory or URL; repeatable; - is stdin.',
    helpValue: 'FILE',
  }),
  recursive: Flags.boolean({ char: 'R', summary: 'With -f: include subdirectories.' }),
};

export const byNodeFlag = Flags.boolean({ summary: 'Show each node separately.' });

/** Throws a usage error for --by-node together with an object as output, which always has each node. */
export function refuseByNode(flags: { 'by-node': boolean; output?: string | undefined }): void {
  if (flags['by-node'] && flags.output !== undefined)
    throw new NodepoolError('usage', `--by-node cannot be combined with -o ${flags.output}`, 'leave it out');
}

/** `--dry-run=none|client|server`; `--dry-run` alone means client, as in kubectl (see base-command.ts). */
export function dryRunFlag(summary = 'Change nothing; with "server", the server validates every write.') {
  return Flags.option({
    options: ['none', 'client', 'server'] as const,
    default: 'none' as const,
    summary,
    helpValue: 'none|client|server',
  })();
}

/** The end of a message in a dry run, as kubectl prints it. */
export function dryRunSuffix(dryRun: DryRun): string {
  return { none: '', client: ' (dry run)', server: ' (server dry run)' }[dryRun];
}

export function outputFlag(summary: string) {
  return Flags.option({ options: ['json', 'yaml'] as const, char: 'o', summary, helpValue: 'json|yaml' })();
}

/** `-o json|yaml|name`, for commands that print pools. */
export function objectOutputFlag(summary: string) {
  const options = ['json', 'yaml', 'name'] as const;
  return Flags.option({ options, char: 'o', summary, helpValue: 'json|yaml|name' })();
}

/** `-o name`, as in kubectl delete. */
export const nameOutputFlag = Flags.option({
  options: ['name'] as const,
  char: 'o',
  summary: 'Print the names of the pools instead of messages.',
  helpValue: 'name',
})();

/** The names in `--resources`, without duplicates. Throws NodepoolError for an empty name. */
export function parseResources(text: string): string[] | 'all' {
  if (text === 'all') return 'all';
  const names = text.split(',').map(name => name.trim());
  if (!names.includes('')) return [...new Set(names)];
  throw new NodepoolError('usage', `--resources: "${text}" has an empty name`, 'write it like cpu,nvidia.com/gpu');
}

export const noHeadersFlag = Flags.boolean({ summary: 'Do not print the header line.' });

export const labelColumnsFlag = repeatedFlag({
  char: 'L',
  summary: 'Labels to show as columns: a,b; repeatable.',
  helpValue: 'KEY',
});

/** `-o` for commands that accept templates. */
export const formatFlag = Flags.string({
  char: 'o',
  summary: 'Output format: wide, json, yaml, …; see above.',
  helpValue: 'FORMAT',
});

/** For every command that may ask; docs/decisions/0031 explains when a script needs it. */
export function yesFlag(needed = 'Scripts need --yes for taints that evict pods.') {
  return Flags.boolean({ char: 'y', summary: `Do not prompt. ${needed}`.trimEnd() });
}

/** Without ignoreStdin oclif would read a missing name from a pipe. */
const NAME = { ignoreStdin: true, parse: poolName };

/** An empty name comes from an unset variable in a script and must not mean all. */
async function notEmpty(name: string): Promise<string> {
  if (name === '') throw new NodepoolError('usage', 'a name cannot be empty', 'check for an unset shell variable');
  return name;
}

/** Also accepts a pool as `-o name` prints it. */
export async function poolName(name: string): Promise<string> {
  return notEmpty(name.replace(POOL_KIND, ''));
}

/** Also accepts a node as `kubectl get nodes -o name` prints it. */
export async function nodeName(name: string): Promise<string> {
  return notEmpty(withoutKind(name));
}

/** `--node`, for commands that work on some members of their pools. Comma lists are parsed before they are split. */
export const membersFlag = Flags.string({
  ...REPEATED,
  summary: 'Only these members: a,b; repeatable.',
  helpValue: 'NAME',
  parse: async names => (await Promise.all(names.split(',').map(nodeName))).join(','),
});

/** `node/a` becomes `a`. */
export function withoutKind(node: string): string {
  return node.replace(NODE_KIND, '');
}

export function nodesArg() {
  return Args.string({ ...NAME, parse: nodeName, description: 'Names of the nodes.', multiple: true });
}

export function nameArg(description: string) {
  return Args.string({ ...NAME, description, required: true });
}

export function optionalNameArg(description: string) {
  return Args.string({ ...NAME, description });
}

export function namesArg(description: string) {
  return Args.string({ ...NAME, description, multiple: true });
}

/** The maximum number of requests in flight. Beyond 32 the API server is the bottleneck. */
export const concurrencyFlag = Flags.integer({
  default: 32,
  min: 1,
  max: 256,
  summary: 'Maximum concurrent requests.',
  helpValue: 'N',
});
