/** Determines what the word at the cursor can be, from the words before it, read as oclif's parser reads them. */
import { type Arg, type CommandGrammar, type Flag, flagOf, type Grammar, globalFlags } from './grammar.ts';

export type CompletedWord =
  | { kind: 'nothing' }
  /** A command, or a global flag before it. */
  | { kind: 'command' }
  | { kind: 'flag' }
  /** The value of a flag; the prefix is the part of the same word before the value: `--output=`. */
  | { kind: 'value'; flag: Flag; prefix: string }
  | { kind: 'argument'; arg: Arg };

export interface CompletionLine {
  /** '' before the command. */
  command: string;
  /** Before the command: a grammar with only the global flags. Undefined for an unknown command. */
  grammar: CommandGrammar | undefined;
  wanted: CompletedWord;
  /** Values of the flags given so far, by name; '' for a boolean flag. */
  flags: Map<string, string[]>;
  earlierArgs: string[];
}

/** @param words all words after the program's name; the last is the one at the cursor, cut there, and may be empty */
export function readWords(words: string[], commands: Grammar): CompletionLine {
  const grammar = { args: {}, flags: globalFlags(commands) };
  const line: CompletionLine = { command: '', grammar, wanted: { kind: 'nothing' }, flags: new Map(), earlierArgs: [] };
  const state = readBefore(words.slice(0, -1), commands, line);
  line.wanted = want(words.at(-1) ?? '', state, line);
  return line;
}

interface ParserState {
  /** The flag whose value comes next. */
  pending: Flag | undefined;
  /** `--` was read: only arguments can follow. */
  ended: boolean;
}

/** Reads the words before the cursor into the line. */
function readBefore(words: string[], commands: Grammar, line: CompletionLine): ParserState {
  const state: ParserState = { pending: undefined, ended: false };
  const { flags, earlierArgs } = line;
  const add = (flag: Flag, value: string) => flags.set(flag.name, [...(flags.get(flag.name) ?? []), value]);
  for (const word of words) {
    if (state.pending !== undefined) {
      add(state.pending, word);
      state.pending = undefined;
    } else if (state.ended || !word.startsWith('-') || word === '-') {
      if (line.command !== '') earlierArgs.push(word);
      else {
        line.command = word;
        line.grammar = Object.hasOwn(commands, word) ? commands[word] : undefined;
      }
    } else if (word === '--') state.ended = true;
    else {
      const { flag, value } = flagOf(word, line.grammar?.flags);
      if (flag === undefined) continue;
      if (flag.type === 'option' && value === undefined && !hasOptionalValue(flag)) state.pending = flag;
      else add(flag, value ?? '');
    }
  }
  return state;
}

function want(
  current: string,
  { pending, ended }: ParserState,
  { command, grammar, earlierArgs }: CompletionLine,
): CompletedWord {
  if (command === 'help' && earlierArgs.length === 0) return { kind: 'command' };
  if (grammar === undefined) return { kind: 'nothing' };
  if (pending !== undefined) return { kind: 'value', flag: pending, prefix: '' };
  if (!ended && current.startsWith('-')) {
    const { flag, value } = flagOf(current, grammar.flags);
    if (flag?.type !== 'option' || value === undefined) return { kind: 'flag' };
    return { kind: 'value', flag, prefix: current.slice(0, current.length - value.length) };
  }
  if (command === '') return { kind: 'command' };
  const args = Object.values(grammar.args);
  const arg = args[earlierArgs.length] ?? args.at(-1);
  return arg === undefined || (earlierArgs.length >= args.length && !arg.multiple)
    ? { kind: 'nothing' }
    : { kind: 'argument', arg };
}

/** Whether the value of the flag is optional (see base-command.ts). */
function hasOptionalValue({ name }: Flag): boolean {
  return name === 'dry-run';
}
