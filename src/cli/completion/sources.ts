/** The source of a flag's or an argument's values, by its name, which means the same in all commands. */
import type { Arg, Flag } from './grammar.ts';

/** Names that are looked up in the cluster or the kubeconfig. */
export type LiveNames =
  | 'pools'
  | 'nodes'
  | 'poolsAndNodes'
  /** Nodes of the pools in the command line, and nodes that could be added to these pools. */
  | 'members'
  | 'nonMembers'
  | 'poolLabels'
  | 'nodeLabels'
  /** Labels that a pool may set. */
  | 'settableLabels'
  /** Taints that pools set. */
  | 'taints'
  | 'startupTaints'
  /** Annotation keys that pools set. */
  | 'annotations'
  /** Revision numbers of the pool in the command line. */
  | 'revisions'
  | 'resources'
  | 'namespaces'
  /** Pods of the namespace in the command line, or in the context. */
  | 'pods'
  | 'contexts'
  | 'clusters'
  | 'users';

export type CompletionSource =
  | { kind: 'none' }
  | { kind: 'files' }
  | { kind: 'words'; words: string[] }
  /**
   * list: values are separated by commas. ending: added to each name before what the user types next; after `=` come
   * the values of that label. usual: always offered. alone: offered only as the first of a list.
   */
  | { kind: 'live'; what: LiveNames; list?: boolean; ending?: string; usual?: string[]; alone?: string[] }
  /** For `top --sort-by`. */
  | { kind: 'sortKeys' }
  /** The effect of a taint, after `KEY[=VALUE]:`; before that, complete taints. */
  | { kind: 'effects'; what: LiveNames };

const NONE: CompletionSource = { kind: 'none' };
const FILES: CompletionSource = { kind: 'files' };

/** Complete values: kubectl's scripts do not complete after the second `=` of `--for=condition=`. */
const CONDITIONS = ['Ready', 'Applied', 'Conflict', 'Progressing'].map(type => `condition=${type}`);

const FLAGS: Record<string, CompletionSource> = {
  kubeconfig: FILES,
  filename: FILES,
  'certificate-authority': FILES,
  'client-certificate': FILES,
  'client-key': FILES,
  context: { kind: 'live', what: 'contexts' },
  cluster: { kind: 'live', what: 'clusters' },
  user: { kind: 'live', what: 'users' },
  node: { kind: 'live', what: 'members', list: true },
  nodes: { kind: 'live', what: 'nodes', list: true },
  why: { kind: 'live', what: 'nodes' },
  pool: { kind: 'live', what: 'pools', list: true },
  to: { kind: 'live', what: 'pools' },
  from: { kind: 'live', what: 'pools' },
  'node-selector': { kind: 'live', what: 'nodeLabels', list: true, ending: '=' },
  taint: { kind: 'effects', what: 'taints' },
  'startup-taint': { kind: 'effects', what: 'startupTaints' },
  annotation: { kind: 'live', what: 'annotations', ending: '=' },
  revision: { kind: 'live', what: 'revisions' },
  'to-revision': { kind: 'live', what: 'revisions' },
  resources: {
    kind: 'live',
    what: 'resources',
    list: true,
    usual: ['cpu', 'memory', 'pods', 'ephemeral-storage'],
    alone: ['all'],
  },
  for: { kind: 'words', words: ['status=200', 'nodes=', 'ready=', ...CONDITIONS, 'jsonpath=', 'create', 'delete'] },
};

const ARGS: Record<string, CompletionSource> = {
  pool: { kind: 'live', what: 'pools' },
  name: { kind: 'live', what: 'pools' },
  node: { kind: 'live', what: 'members' },
  pod: { kind: 'live', what: 'pods' },
};

/** The measures of a resource in `top --sort-by`. */
export const SORT_MEASURES = ['allocatable', 'requested', 'limits', 'used', 'free', 'maxFree', 'percent'];
/** Common paths for `get --sort-by`; any other path works as well. */
const SORT_PATHS = [
  '.metadata.name',
  '.metadata.creationTimestamp',
  '.status.status',
  '.status.nodeCount',
  '.status.readyNodeCount',
  '.status.updatedNodeCount',
  '.status.unschedulableNodeCount',
  '.status.allocatable.cpu',
  '.status.allocatable.memory',
  '.status.allocatable.pods',
];
/** The same for `nodes --sort-by`. */
const NODE_SORT_PATHS = [
  '.metadata.name',
  '.metadata.creationTimestamp',
  '.pool',
  '.allocatable.cpu',
  '.allocatable.memory',
];

/** Commands whose -l selects nodes; in other commands it selects pools. */
const SELECT_NODES = ['nodes', 'add', 'remove', 'move'];
/** Commands for a namespaced object, and '' for no command yet; other commands ignore the namespace. */
const OF_NAMESPACE = ['', 'fit'];
/** Commands whose arguments are new names. */
const NEW_NAMES = ['create', 'adopt'];
/** Formats of `get -o` and `nodes -o`, which the parser accepts as free text. */
const FORMATS = [
  'wide',
  'json',
  'yaml',
  'name',
  'jsonpath=',
  'jsonpath-file=',
  'jsonpath-as-json=',
  'custom-columns=',
  'custom-columns-file=',
];
/** Formats that kubectl can print for `get`. */
const FORMATS_OF_KUBECTL = ['go-template=', 'go-template-file=', 'kyaml'];

export function sourceOfFlag(command: string, { name, options, helpValue = '' }: Flag): CompletionSource {
  if (options !== undefined) return { kind: 'words', words: options };
  const what = SELECT_NODES.includes(command) ? 'nodeLabels' : 'poolLabels';
  if (name === 'selector') return { kind: 'live', what, list: true, ending: '=' };
  if (name === 'label')
    return {
      kind: 'live',
      what: command === 'adopt' ? 'nodeLabels' : 'settableLabels',
      list: true,
      ending: helpValue.includes('=') ? '=' : '',
    };
  if (name === 'for' && command === 'events') return { kind: 'live', what: 'pools' };
  if (name === 'namespace') return OF_NAMESPACE.includes(command) ? { kind: 'live', what: 'namespaces' } : NONE;
  if (name === 'label-columns') return { kind: 'live', what: command === 'top' ? 'nodeLabels' : what, list: true };
  if (name === 'sort-by' && command === 'top') return { kind: 'sortKeys' };
  if (name === 'sort-by') return { kind: 'words', words: command === 'nodes' ? NODE_SORT_PATHS : SORT_PATHS };
  if (Object.hasOwn(FLAGS, name)) return FLAGS[name] ?? NONE;
  if (name.endsWith('-file')) return FILES;
  if (name === 'output') {
    return { kind: 'words', words: command === 'get' ? [...FORMATS, ...FORMATS_OF_KUBECTL] : FORMATS };
  }
  const words = helpValue.split('|').filter(word => /^[a-z][a-z-]*=?$/.test(word));
  // `json|jsonpath=|wide`: the help lists the values. A word in capitals is a placeholder.
  return words.length > 1 ? { kind: 'words', words } : NONE;
}

export function sourceOfArg(command: string, { name, options }: Arg): CompletionSource {
  if (options !== undefined) return { kind: 'words', words: options };
  if (NEW_NAMES.includes(command)) return NONE;
  if (command === 'history') return { kind: 'live', what: 'poolsAndNodes' };
  return command === 'add' && name === 'node' ? { kind: 'live', what: 'nonMembers' } : (ARGS[name] ?? NONE);
}
