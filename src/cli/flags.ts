/** The global flags, and the flags and arguments that several commands share. */
import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { NodepoolError } from '../nodepool/errors.ts';
import type { DryRun } from '../operations/ports.ts';

/** The CRD's name in messages, as kubectl prints it. */
export const CRD_NAME = 'customresourcedefinition.apiextensions.k8s.io/nodepools.nodes.lailin.xyz';

const GLOBAL = { helpGroup: 'GLOBAL' };

/** Named as kubectl's: kubectl accepts no flags before the name of a plugin. */
export const globalFlags = {
  kubeconfig: Flags.string({ ...GLOBAL, summary: 'Path to the kubeconfig file.', helpValue: 'FILE' }),
  context: Flags.string({ ...GLOBAL, summary: 'Context of the kubeconfig to use.', helpValue: 'NAME' }),
  cluster: Flags.string({ ...GLOBAL, summary: 'Cluster of the kubeconfig to use.', helpValue: 'NAME' }),
  user: Flags.string({ ...GLOBAL, summary: 'User of the kubeconfig to use.', helpValue: 'NAME' }),
  as: Flags.string({ ...GLOBAL, summary: 'User name to impersonate.', helpValue: 'USER' }),
  'as-uid': Flags.string({ ...GLOBAL, summary: 'UID to impersonate.', helpValue: 'UID' }),
  'as-group': repeatedFlag({ ...GLOBAL, summary: 'Group to impersonate; repeatable.', helpValue: 'GROUP' }),
  'as-user-extra': repeatedFlag({
    ...GLOBAL,
    summary: 'Extra field of the user to impersonate; repeatable.',
    helpValue: 'KEY=VALUE',
  }),
  'request-timeout': Flags.string({
    ...GLOBAL,
    summary: 'Longest wait for one request, its retries included: 5s, 2m; 0 waits for ever.',
    helpValue: 'TIME',
  }),
  color: Flags.option({
    ...GLOBAL,
    options: ['auto', 'always', 'never'] as const,
    default: 'auto' as const,
    summary: 'Colours: auto has them on a terminal, unless NO_COLOR or FORCE_COLOR says otherwise.',
    helpValue: 'auto|always|never',
  })(),
  verbosity: Flags.integer({
    ...GLOBAL,
    char: 'v',
    aliases: ['v'],
    default: 0,
    min: 0,
    summary: 'Log to stderr: 4 what a --watch does, 6 requests, 8 headers and JSON bodies, 9 stack traces.',
    helpValue: 'N',
  }),
};

type FlagText = { summary: string; helpValue?: string; helpGroup?: string; char?: 'f' | 'l' };

/** A repeatable flag, one value each: `--label a=b --label c=d`. */
export function repeatedFlag(text: FlagText) {
  return Flags.string({ ...text, multiple: true, multipleNonGreedy: true });
}

/** `--dry-run=none|client|server`; alone it means client, as for kubectl (see base-command.ts). */
export function dryRunFlag(summary = 'Change nothing: "client" sends nothing, "server" has the server validate it.') {
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

/** `-o json|yaml`. */
export function outputFlag(summary: string) {
  return Flags.option({ options: ['json', 'yaml'] as const, char: 'o', summary, helpValue: 'json|yaml' })();
}

/** The names in `--resources`, without duplicates. Throws NodepoolError for an empty name. */
export function parseResources(text: string): string[] | 'all' {
  if (text === 'all') return 'all';
  const names = text.split(',').map(name => name.trim());
  if (!names.includes('')) return [...new Set(names)];
  throw new NodepoolError('usage', `--resources: "${text}" has an empty name`, 'write it like cpu,nvidia.com/gpu');
}

export const yesFlag = Flags.boolean({ char: 'y', summary: 'Do not ask.' });

/** For commands that set taints: NoExecute may evict pods. */
export const evictYesFlag = Flags.boolean({
  char: 'y',
  summary: 'Do not ask; scripts need it where a taint with NoExecute would evict pods.',
});

/** Without ignoreStdin oclif would read a missing name from a pipe. */
const NAME = { ignoreStdin: true, parse: poolName };

/** An empty name is an unset variable of a script and must not mean all. */
async function notEmpty(name: string): Promise<string> {
  if (name === '') throw new NodepoolError('usage', 'a name may not be empty', 'look for a variable that is not set');
  return name;
}

/** Accepts a pool as `-o name` prints it. */
export async function poolName(name: string): Promise<string> {
  return notEmpty(name.replace(/^(?:nodepools?|npool)(?:\.nodes\.lailin\.xyz)?\//, ''));
}

/** Accepts a node as `kubectl get nodes -o name` prints it. */
export async function nodeName(name: string): Promise<string> {
  return notEmpty(withoutKind(name));
}

/** `node/a` is `a`. */
export function withoutKind(node: string): string {
  return node.replace(/^nodes?\//, '');
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

/** Limits the requests in flight. Beyond 32 the API server is the limit. */
export const concurrencyFlag = Flags.integer({
  default: 32,
  min: 1,
  max: 256,
  summary: 'Requests under way at most.',
  helpValue: 'N',
});
