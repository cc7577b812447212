/** Where the values of a flag or an argument come from, by its name: the same name means the same in every verb. */
import type { Arg, Flag } from './grammar.ts';

/** What has to be looked up. */
export type Live =
  | 'pools'
  | 'nodes'
  /** Nodes of the pools that are named before, and nodes that could be added to them. */
  | 'members'
  | 'nonMembers'
  | 'poolLabels'
  | 'nodeLabels'
  | 'resources'
  | 'contexts'
  | 'clusters'
  | 'users';

export type Source =
  | { kind: 'none' }
  | { kind: 'files' }
  | { kind: 'words'; words: string[] }
  /**
   * list: several, separated by commas. ending: what follows each, to be typed on after. usual: offered whatever the
   * cluster says. alone: offered, too, and never beside another of a list.
   */
  | { kind: 'live'; what: Live; list?: boolean; ending?: string; usual?: string[]; alone?: string[] }
  /** What `top --sort-by` takes. */
  | { kind: 'sortKeys' }
  /** `KEY[=VALUE]:` is typed, the effect is wanted. */
  | { kind: 'effects' };

const NONE: Source = { kind: 'none' };
const FILES: Source = { kind: 'files' };

const FLAGS: Record<string, Source> = {
  kubeconfig: FILES,
  filename: FILES,
  context: { kind: 'live', what: 'contexts' },
  cluster: { kind: 'live', what: 'clusters' },
  user: { kind: 'live', what: 'users' },
  node: { kind: 'live', what: 'members' },
  nodes: { kind: 'live', what: 'nodes', list: true },
  why: { kind: 'live', what: 'nodes' },
  to: { kind: 'live', what: 'pools' },
  from: { kind: 'live', what: 'pools' },
  'node-selector': { kind: 'live', what: 'nodeLabels', ending: '=' },
  taint: { kind: 'effects' },
  resources: {
    kind: 'live',
    what: 'resources',
    list: true,
    usual: ['cpu', 'memory', 'pods', 'ephemeral-storage'],
    alone: ['all'],
  },
  for: { kind: 'words', words: ['status=200', 'nodes=', 'ready=', 'delete'] },
};

const ARGS: Record<string, Source> = {
  pool: { kind: 'live', what: 'pools' },
  name: { kind: 'live', what: 'pools' },
  node: { kind: 'live', what: 'members' },
};

/** Of a resource, the measures that `top --sort-by` takes. */
export const SORT_MEASURES = ['allocatable', 'requested', 'limits', 'used', 'free', 'percent'];
/** What a status has that is often sorted by; any other path can be given as well. */
const SORT_PATHS = [
  '.metadata.name',
  '.metadata.creationTimestamp',
  '.status.status',
  '.status.nodeCount',
  '.status.readyNodeCount',
  '.status.unschedulableNodeCount',
  '.status.allocatable.cpu',
  '.status.allocatable.memory',
  '.status.allocatable.pods',
];

/** These verbs list pools: labels in their flags are those of pools, not of nodes. */
const LIST_POOLS = ['get', 'top'];
/** Their arguments are names that are not taken yet. */
const NEW_NAMES = ['create', 'adopt'];
/** What `-o` takes of `get`, where the parser has no list of it. */
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

export function sourceOfFlag(verb: string, { name, options, helpValue = '' }: Flag): Source {
  if (options !== undefined) return { kind: 'words', words: options };
  const what = LIST_POOLS.includes(verb) ? 'poolLabels' : 'nodeLabels';
  if (name === 'selector') return { kind: 'live', what, list: true, ending: '=' };
  if (name === 'label') return { kind: 'live', what, ending: helpValue.includes('=') ? '=' : '' };
  if (name === 'label-columns') return { kind: 'live', what, list: true };
  if (name === 'sort-by') return verb === 'top' ? { kind: 'sortKeys' } : { kind: 'words', words: SORT_PATHS };
  if (Object.hasOwn(FLAGS, name)) return FLAGS[name] ?? NONE;
  if (name.endsWith('-file')) return FILES;
  if (name === 'output') return { kind: 'words', words: FORMATS };
  const words = helpValue.split('|').filter(word => /^[a-z][a-z-]*=?$/.test(word));
  // `json|jsonpath=|wide`: the help says what there is. A word in capitals stands for anything.
  return words.length > 1 ? { kind: 'words', words } : NONE;
}

export function sourceOfArg(verb: string, { name, options }: Arg): Source {
  if (options !== undefined) return { kind: 'words', words: options };
  if (NEW_NAMES.includes(verb)) return NONE;
  return verb === 'add' && name === 'node' ? { kind: 'live', what: 'nonMembers' } : (ARGS[name] ?? NONE);
}
