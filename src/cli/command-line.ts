/** Read from a command line before oclif parses it, so that help, colours and errors follow it even when parsing fails. */
export interface CommandLine {
  /** Passed to oclif. */
  words: string[];
  /** The command whose help was requested; '' for the whole program, undefined for no help. */
  help: string | undefined;
  /** The last value of `--color`, unchecked. */
  color: string | undefined;
  verbosity: number;
  /** `--log-format json`: every line of stderr has to be JSON. */
  jsonLog: boolean;
}

export function readCommandLine(argv: string[]): CommandLine {
  const words = argv[0] === '--version' ? ['version', '--client', ...argv.slice(1)] : argv;
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  return {
    words,
    help: words.length === 0 ? '' : helpSubject(own),
    color: valuesOf(/^--color(?:=(.*))?$/s, own).at(-1),
    verbosity: Number(valuesOf(/^(?:-v|--v|--verbosity)(?:=?(\d+))?$/, own).find(value => /^\d+$/.test(value)) ?? 0),
    // After the command: before it, no flag is valid.
    jsonLog: valuesOf(/^--log-format(?:=(.*))?$/s, own.slice(1)).includes('json'),
  };
}

/** @param flag matches the flag, and captures a value in the same word; without one, the value is the next word */
function valuesOf(flag: RegExp, words: string[]): string[] {
  return words.flatMap((word, at) => {
    const match = flag.exec(word);
    return match === null ? [] : (match[1] ?? words[at + 1] ?? []);
  });
}

function helpSubject(words: string[]): string | undefined {
  const [first] = words;
  if (first === 'help') return words.filter(word => !word.startsWith('-'))[1] ?? '';
  if (words.includes('--help') || words.includes('-h')) return first?.startsWith('-') ? '' : first;
  return undefined;
}
