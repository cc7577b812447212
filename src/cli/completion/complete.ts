/**
 * Completes a command line with cobra's protocol: one candidate per line, with a tab before its description, and a last
 * line with a colon and the directive. On an error the answer is empty, and nothing is printed.
 */
import type { NamesPort } from '../../kube/resources/names.ts';
import type { Io } from '../io.ts';
import { type Flag, GLOBAL, type Grammar, NODE_KIND, POOL_KIND } from './grammar.ts';
import { isSafeCandidate, liveNames, safeDescription } from './live.ts';
import { type CompletionSource, type LiveNames, SORT_MEASURES, sourceOfArg, sourceOfFlag } from './sources.ts';
import { type CompletionLine, readWords } from './words.ts';

/** cobra's ShellCompDirective bits. */
const [NO_SPACE, NO_FILES] = [2, 4];

export type FlagValues = Record<string, string | string[] | boolean | undefined>;

export interface CompletionCandidate {
  value: string;
  description?: string | undefined;
}

export interface CompletionOptions {
  /** The words after the program's name; the last is the one at the cursor. */
  words: string[];
  /** Returns candidates as whole words, which some cases need; else, as cobra, only the value after `--flag=`. */
  wholeWords: boolean;
  commands: Grammar;
  io: Pick<Io, 'env' | 'now'>;
  openNames: (globalFlags: FlagValues) => Promise<NamesPort>;
}

interface Completions {
  candidates: CompletionCandidate[];
  files?: boolean;
}

/** Never rejects. */
export async function complete(options: CompletionOptions): Promise<string> {
  const current = options.words.at(-1) ?? '';
  const { candidates, files = false } = await find(options).catch(() => ({ candidates: [], files: false }));
  const prefix = options.wholeWords ? '' : cobraPrefix(current);
  const shown = candidates.filter(
    ({ value }) => prefix !== undefined && value.startsWith(current) && isSafeCandidate(value),
  );
  const open = shown.length > 0 && shown.every(({ value }) => /[=:]$/.test(value));
  const lines = shown.map(({ value, description }) => {
    const rest = value.slice(prefix?.length);
    return description === undefined ? rest : `${rest}\t${safeDescription(description)}`;
  });
  return [...lines, `:${(files ? 0 : NO_FILES) + (open ? NO_SPACE : 0)}`, ''].join('\n');
}

/**
 * The part of a word that cobra's scripts put before a candidate: in bash the part up to the first `=`, in zsh and fish
 * the part from the first `-` to the last `=`. Undefined where no answer is right for all.
 */
function cobraPrefix(word: string): string | undefined {
  const [inBash = ''] = /^-[^=]*=/.exec(word) ?? [];
  const [dash, equals] = [word.indexOf('-'), word.lastIndexOf('=')];
  const elsewhere = dash >= 0 && equals > dash ? word.slice(dash, equals + 1) : '';
  return inBash === elsewhere ? inBash : undefined;
}

async function find(options: CompletionOptions): Promise<Completions> {
  const { words, commands } = options;
  const line = readWords(words, commands);
  const { wanted, command } = line;
  const current = words.at(-1) ?? '';
  switch (wanted.kind) {
    case 'nothing':
      return { candidates: [] };
    case 'command':
      return { candidates: commandNames(commands) };
    case 'flag':
      return { candidates: flagNames(line) };
    case 'value': {
      const { flag, prefix } = wanted;
      const taken = flag.multiple ? (line.flags.get(flag.name) ?? []) : [];
      const found = await values(sourceOfFlag(command, flag), current.slice(prefix.length), taken, line, options);
      return { ...found, candidates: found.candidates.map(({ value }) => ({ value: prefix + value })) };
    }
    case 'argument':
      return argumentValues(sourceOfArg(command, wanted.arg), current, line, options);
  }
}

/** Includes the kind or namespace that was typed before the name. */
async function argumentValues(
  source: CompletionSource,
  typed: string,
  line: CompletionLine,
  options: CompletionOptions,
): Promise<Completions> {
  if (source.kind !== 'live') return values(source, typed, line.earlierArgs, line, options);
  const { prefix, what, namespace } = splitPrefix(source.what, typed);
  const flags = namespace === undefined ? line.flags : new Map([...line.flags, ['namespace', [namespace]]]);
  const rest = typed.slice(prefix.length);
  const found = await values({ ...source, what }, rest, line.earlierArgs, { ...line, flags }, options);
  const isNew = (name: string) => !line.earlierArgs.includes(name);
  return {
    candidates: found.candidates
      .map(({ value }) => prefix + value)
      .filter(isNew)
      .map(value => ({ value })),
  };
}

function commandNames(commands: Grammar): CompletionCandidate[] {
  const shown = Object.entries(commands).filter(([, { hidden }]) => !hidden);
  return [
    ...shown.map(([value, { summary: description }]) => ({ value, description })),
    { value: 'options', description: 'Show the flags that every command takes.' },
    { value: 'help', description: 'Show the help of the program or of a command.' },
  ];
}

/** Offers a flag again only if it is repeatable. */
function flagNames({ command, grammar, flags }: CompletionLine): CompletionCandidate[] {
  const offered = Object.values(grammar?.flags ?? {}).filter(
    ({ name, hidden, multiple }) => !hidden && (multiple || !flags.has(name)),
  );
  const names = ({ name, allowNo }: Flag) => (allowNo ? [name, `no-${name}`] : [name]);
  return [
    ...offered.flatMap(flag => names(flag).map(name => ({ value: `--${name}`, description: flag.summary }))),
    { value: '--help', description: 'Show the help.' },
    ...(command === '' ? [{ value: '--version', description: 'Show the version.' }] : []),
  ];
}

/**
 * @param typed the part of the value before the cursor
 * @param taken values that were given before and are not offered again
 */
async function values(
  source: CompletionSource,
  typed: string,
  taken: string[],
  line: CompletionLine,
  options: CompletionOptions,
): Promise<Completions> {
  const { io, openNames } = options;
  const live = async (what: LiveNames, labelKey?: string) =>
    liveNames(what, await openNames(accessFlags(line, io.env)), {
      ...io,
      pools: poolsBefore(line),
      labelKey,
      namespace: line.flags.get('namespace')?.at(-1),
    });
  switch (source.kind) {
    case 'none':
      return { candidates: [] };
    case 'files':
      return { candidates: [], files: true };
    case 'words':
      return { candidates: source.words.map(value => ({ value })) };
    case 'effects': {
      const found = effects(typed);
      if (found.length > 0) return { candidates: found.map(value => ({ value })) };
      return values({ kind: 'live', what: source.what, list: true }, typed, taken, line, options);
    }
    case 'sortKeys':
      return { candidates: (await sortKeys(typed, () => live('resources'), line)).map(value => ({ value })) };
    case 'live': {
      const { list = false, ending = '', usual = [], alone = [] } = source;
      const before = list ? typed.slice(0, typed.lastIndexOf(',') + 1) : '';
      const [key, value] = typed.slice(before.length).split('=', 2);
      if (ending === '=' && key !== undefined && value !== undefined) {
        const found = await live(source.what, key);
        return { candidates: found.map(each => ({ value: `${before}${key}=${each}` })) };
      }
      const named = new Set([...taken, ...before.split(',')]);
      const found = await live(source.what).catch(error => {
        if (usual.length === 0) throw error;
        return [];
      });
      const all = new Set([...usual, ...found.toSorted(), ...(before === '' ? alone : [])]);
      const names = [...all].filter(name => !named.has(name));
      return { candidates: names.map(name => ({ value: before + name + ending })) };
    }
  }
}

/** The keys of the resources that the command shows: by default the usual ones and the cluster's accelerators. */
async function sortKeys(typed: string, live: () => Promise<string[]>, { flags }: CompletionLine): Promise<string[]> {
  const { usualResources } = await import('../../nodepool/quantity/amounts.ts');
  const known = await live().catch(() => []);
  const chosen = flags.get('resources')?.at(-1) ?? '';
  const shown = chosen === '' ? usualResources(known) : chosen === 'all' ? known : chosen.split(',');
  const resource = typed.slice(0, Math.max(typed.lastIndexOf('.'), 0));
  // Pods have no "free" figures.
  const ofPods = flags.has('pods');
  const measures = SORT_MEASURES.filter(measure => !ofPods || !/free$/i.test(measure));
  if (shown.includes(resource)) return measures.map(measure => `${resource}.${measure}`);
  return ofPods ? ['name', ...shown.filter(name => name !== 'pods')] : ['name', 'nodes', ...shown];
}

/** The pools whose nodes are offered: the values of arguments other than nodes, and of `--from`. */
function poolsBefore({ grammar, earlierArgs, flags }: CompletionLine): string[] {
  const args = Object.values(grammar?.args ?? {});
  const pools = earlierArgs.filter((_, at) => (args[at] ?? args.at(-1))?.name !== 'node');
  return [...pools, ...(flags.get('from') ?? [])].map(name => name.replace(POOL_KIND, ''));
}

/** The global flags so far, which include those that choose the server and the user. */
function accessFlags({ grammar, flags }: CompletionLine, { HOME: home = '~' }: Io['env']): FlagValues {
  const global = Object.values(grammar?.flags ?? {}).filter(({ helpGroup }) => helpGroup === GLOBAL);
  return Object.fromEntries(
    global.flatMap(({ name, type, multiple }) => {
      // Shells pass the word as it was typed, with ~.
      const values = flags.get(name)?.map(value => value.replace(/^~(?=\/)/, () => home));
      return values === undefined ? [] : [[name, type === 'boolean' || (multiple ? values : values.at(-1))]];
    }),
  );
}

function effects(typed: string): string[] {
  const start = typed.lastIndexOf(',') + 1;
  const colon = typed.indexOf(':', start);
  if (colon <= start) return [];
  return ['NoSchedule', 'PreferNoSchedule', 'NoExecute'].map(effect => typed.slice(0, colon + 1) + effect);
}

// What an argument may have before the name: a kind, as in `node/NAME`, or the namespace of a pod.

interface ArgPrefix {
  prefix: string;
  what: LiveNames;
  /** The namespace of a pod, if the prefix names one. */
  namespace?: string;
}

/** @param typed the argument before the cursor */
function splitPrefix(what: LiveNames, typed: string): ArgPrefix {
  switch (what) {
    case 'pods': {
      const [, prefix = '', namespace] = /^(([^/]+)\/)/.exec(typed) ?? [];
      return namespace === undefined ? { prefix, what } : { prefix, what, namespace };
    }
    case 'pools':
      return { prefix: prefixOf(POOL_KIND, typed), what };
    case 'nodes':
    case 'members':
    case 'nonMembers':
      return { prefix: prefixOf(NODE_KIND, typed), what };
    case 'poolsAndNodes': {
      const [pool, node] = [prefixOf(POOL_KIND, typed), prefixOf(NODE_KIND, typed)];
      return { prefix: pool + node, what: pool !== '' ? 'pools' : node !== '' ? 'nodes' : what };
    }
    default:
      return { prefix: '', what };
  }
}

function prefixOf(kind: RegExp, typed: string): string {
  return kind.exec(typed)?.[0] ?? '';
}
