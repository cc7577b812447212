import { type Flags, flagOf } from './completion/grammar.ts';

/** Read from the command line before oclif parses it: help, colours and errors work even when parsing fails. */
export interface CommandLine {
  /** The words to pass to oclif. */
  words: string[];
  /** The command whose help was requested; '' for the whole program, OPTIONS for global flags, undefined for none. */
  help: string | undefined;
  /** The last value of `--color`, unchecked. */
  color: string | undefined;
  verbosity: number;
  /** `--log-format json`: every line on stderr must be JSON. */
  jsonLog: boolean;
}

/** `kubectl nodepool options` lists the global flags, as `kubectl options` does. */
export const OPTIONS = 'options';

/** @param globalFlags from the manifest */
export function readCommandLine(argv: string[], globalFlags: Flags): CommandLine {
  const words = argv[0] === '--version' ? ['version', '--client', ...argv.slice(1)] : commandFirst(argv, globalFlags);
  const end = words.indexOf('--');
  const beforeDashes = end < 0 ? words : words.slice(0, end);
  return {
    words,
    help: words.length === 0 ? '' : helpSubject(beforeDashes),
    color: valuesOf(/^--color(?:=(.*))?$/s, beforeDashes).at(-1),
    verbosity: Number(
      valuesOf(/^(?:-v|--v|--verbosity)(?:=?(\d+))?$/, beforeDashes).find(value => /^\d+$/.test(value)) ?? 0,
    ),
    jsonLog: valuesOf(/^--log-format(?:=(.*))?$/s, beforeDashes.slice(1)).includes('json'),
  };
}

/** Moves the command before the global flags, which may precede it as in kubectl. Without a command: help. */
function commandFirst(argv: string[], globalFlags: Flags): string[] {
  let at = 0;
  for (let word = argv[0]; word?.startsWith('-'); word = argv[at]) {
    if (/^--?$/.test(word)) return argv;
    const { flag, value } = flagOf(word, globalFlags);
    // Moves the unknown flag to the front: the error names it, not the global flags, whose values may be secrets.
    if (flag === undefined) return [...argv.slice(at), ...argv.slice(0, at)];
    at += flag.type === 'option' && value === undefined ? 2 : 1;
  }
  const command = argv[at];
  return command === undefined ? ['--help', ...argv] : [command, ...argv.slice(0, at), ...argv.slice(at + 1)];
}

/** @param flag matches the flag, and captures a value in the same word; without one, the next word is the value */
function valuesOf(flag: RegExp, words: string[]): string[] {
  return words.flatMap((word, at) => {
    const match = flag.exec(word);
    return match === null ? [] : (match[1] ?? words[at + 1] ?? []);
  });
}

function helpSubject(words: string[]): string | undefined {
  const [first] = words;
  if (first === 'help') {
    const subject = words.filter(word => !word.startsWith('-'))[1] ?? '';
    // `help help` shows the help of the program.
    return subject === 'help' ? '' : subject;
  }
  if (first === OPTIONS) return OPTIONS;
  if (words.some(word => /^(-h|--help(=true)?)$/.test(word))) return first?.startsWith('-') ? '' : first;
  return undefined;
}
