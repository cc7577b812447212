/** What the word under the cursor is to be, read from the words before it as oclif's parser reads them. */
import type { Arg, Flag, Grammar, VerbGrammar } from './grammar.ts';

export type Wanted =
  | { kind: 'nothing' }
  /** A verb; at the very start a flag of the program, too. */
  | { kind: 'verb' }
  | { kind: 'flag' }
  /** Of a flag; the prefix is what stands before it in the same word: `--output=`. */
  | { kind: 'value'; flag: Flag; prefix: string }
  | { kind: 'argument'; arg: Arg };

export interface CommandLine {
  verb: string;
  grammar: VerbGrammar | undefined;
  wanted: Wanted;
  /** Values of the flags that are there already, by the flag's name; of a boolean, empty strings. */
  flags: Map<string, string[]>;
  /** The arguments that are there already. */
  given: string[];
}

/** @param words all after the program's name; the last is the one under the cursor, up to it, and may be empty */
export function readWords(words: string[], verbs: Grammar): CommandLine {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const [verb = '', ...rest] = before;
  const grammar = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  const line: CommandLine = { verb, grammar, wanted: { kind: 'nothing' }, flags: new Map(), given: [] };
  if (before.length === 0 || (verb === 'help' && rest.length === 0)) line.wanted = { kind: 'verb' };
  else if (grammar !== undefined) line.wanted = want(current, readRest(rest, grammar, line), grammar, line);
  return line;
}

/** Where the words before the cursor leave off. */
interface State {
  /** The flag whose value comes next. */
  pending: Flag | undefined;
  /** After `--` there are arguments alone. */
  ended: boolean;
}

function readRest(words: string[], grammar: VerbGrammar, { flags, given }: CommandLine): State {
  const state: State = { pending: undefined, ended: false };
  const add = (flag: Flag, value: string) => flags.set(flag.name, [...(flags.get(flag.name) ?? []), value]);
  for (const word of words) {
    if (state.pending !== undefined) {
      add(state.pending, word);
      state.pending = undefined;
    } else if (state.ended || !word.startsWith('-') || word === '-') given.push(word);
    else if (word === '--') state.ended = true;
    else {
      const { flag, value } = flagOf(word, grammar);
      if (flag === undefined) continue;
      if (flag.type === 'option' && value === undefined && !mayBeBare(flag)) state.pending = flag;
      else add(flag, value ?? '');
    }
  }
  return state;
}

function want(current: string, { pending, ended }: State, grammar: VerbGrammar, { given }: CommandLine): Wanted {
  if (pending !== undefined) return { kind: 'value', flag: pending, prefix: '' };
  if (!ended && current.startsWith('-')) {
    const { flag, value } = flagOf(current, grammar);
    if (flag?.type !== 'option' || value === undefined) return { kind: 'flag' };
    return { kind: 'value', flag, prefix: current.slice(0, current.length - value.length) };
  }
  const args = Object.values(grammar.args);
  const arg = args[given.length] ?? args.at(-1);
  return arg === undefined || (given.length >= args.length && !arg.multiple)
    ? { kind: 'nothing' }
    : { kind: 'argument', arg };
}

/** `--name`, `--name=value`, `-n`, `-nvalue`, `-n=value`; `-wy` is -w, of which no more is wanted here. */
function flagOf(word: string, { flags }: VerbGrammar): { flag: Flag | undefined; value: string | undefined } {
  const all = Object.values(flags);
  if (word.startsWith('--')) {
    const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const isMeant = (flag: Flag) =>
      flag.name === name || flag.aliases?.includes(name) || (flag.allowNo === true && `no-${flag.name}` === name);
    return { flag: all.find(isMeant), value };
  }
  const flag = all.find(({ char }) => char !== undefined && char === word[1]);
  return { flag, value: word.length > 2 ? word.slice(2).replace(/^=/, '') : undefined };
}

/** Without a value of its own it means one, and takes no word (see base-command.ts). */
function mayBeBare({ name }: Flag): boolean {
  return name === 'dry-run';
}
