/** What the word at the cursor can be, from the words before it, which are read as oclif's parser reads them. */
import type { Arg, CommandGrammar, Flag, Grammar } from './grammar.ts';

export type Wanted =
  | { kind: 'nothing' }
  /** A command; as the first word also a flag of the program. */
  | { kind: 'command' }
  | { kind: 'flag' }
  /** The value of a flag; the prefix precedes it in the same word: `--output=`. */
  | { kind: 'value'; flag: Flag; prefix: string }
  | { kind: 'argument'; arg: Arg };

export interface CompletionLine {
  command: string;
  grammar: CommandGrammar | undefined;
  wanted: Wanted;
  /** Values of the flags given so far, by name; '' for a boolean flag. */
  flags: Map<string, string[]>;
  /** The arguments given so far. */
  given: string[];
}

/** @param words all after the program's name; the last is the one at the cursor, cut there, and may be empty */
export function readWords(words: string[], commands: Grammar): CompletionLine {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const [command = '', ...rest] = before;
  const grammar = Object.hasOwn(commands, command) ? commands[command] : undefined;
  const line: CompletionLine = { command, grammar, wanted: { kind: 'nothing' }, flags: new Map(), given: [] };
  if (before.length === 0 || (command === 'help' && rest.length === 0)) line.wanted = { kind: 'command' };
  else if (grammar !== undefined) line.wanted = want(current, readRest(rest, grammar, line), grammar, line);
  return line;
}

/** The parser's state at the cursor. */
interface State {
  /** The flag whose value comes next. */
  pending: Flag | undefined;
  /** `--` was read: only arguments follow. */
  ended: boolean;
}

function readRest(words: string[], grammar: CommandGrammar, { flags, given }: CompletionLine): State {
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
      if (flag.type === 'option' && value === undefined && !hasOptionalValue(flag)) state.pending = flag;
      else add(flag, value ?? '');
    }
  }
  return state;
}

function want(current: string, { pending, ended }: State, grammar: CommandGrammar, { given }: CompletionLine): Wanted {
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

/** `--name`, `--name=value`, `-n`, `-nvalue`, `-n=value`; of `-wy` the flag is -w. */
function flagOf(word: string, { flags }: CommandGrammar): { flag: Flag | undefined; value: string | undefined } {
  const all = Object.values(flags);
  if (word.startsWith('--')) {
    const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const matches = (flag: Flag) =>
      flag.name === name || flag.aliases?.includes(name) || (flag.allowNo === true && `no-${flag.name}` === name);
    return { flag: all.find(matches), value };
  }
  const flag = all.find(({ char }) => char !== undefined && char === word[1]);
  return { flag, value: word.length > 2 ? word.slice(2).replace(/^=/, '') : undefined };
}

/** Whether the flag may come without a value (see base-command.ts). */
function hasOptionalValue({ name }: Flag): boolean {
  return name === 'dry-run';
}
