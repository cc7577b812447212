/** Where the values of a flag or an argument come from, by its name: the same name means the same in every verb. */
import type { Arg, Flag } from './grammar.ts';

/** What has to be looked up. */
export type Live = 'pools' | 'nodes' | 'poolLabels' | 'nodeLabels' | 'contexts' | 'clusters' | 'users';

export type Source =
  | { kind: 'none' }
  | { kind: 'files' }
  | { kind: 'words'; words: string[] }
  /** list: several, separated by commas. ending: what follows each, to be typed on after. */
  | { kind: 'live'; what: Live; list?: boolean; ending?: string }
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
  node: { kind: 'live', what: 'nodes' },
  nodes: { kind: 'live', what: 'nodes', list: true },
  why: { kind: 'live', what: 'nodes' },
  to: { kind: 'live', what: 'pools' },
  from: { kind: 'live', what: 'pools' },
  'node-selector': { kind: 'live', what: 'nodeLabels', ending: '=' },
  taint: { kind: 'effects' },
  resources: { kind: 'words', words: ['all', 'cpu', 'memory', 'pods', 'ephemeral-storage'] },
  for: { kind: 'words', words: ['status=200', 'nodes=', 'ready=', 'delete'] },
};

const ARGS: Record<string, Source> = {
  pool: { kind: 'live', what: 'pools' },
  name: { kind: 'live', what: 'pools' },
  node: { kind: 'live', what: 'nodes' },
};

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
  if (Object.hasOwn(FLAGS, name)) return FLAGS[name] ?? NONE;
  if (name.endsWith('-file')) return FILES;
  if (name === 'output') return { kind: 'words', words: FORMATS };
  const words = helpValue.split('|').filter(word => /^[a-z][a-z-]*=?$/.test(word));
  // `json|jsonpath=|wide`: the help says what there is. A word in capitals stands for anything.
  return words.length > 1 ? { kind: 'words', words } : NONE;
}

export function sourceOfArg(verb: string, { name, options }: Arg): Source {
  if (options !== undefined) return { kind: 'words', words: options };
  return NEW_NAMES.includes(verb) ? NONE : (ARGS[name] ?? NONE);
}
