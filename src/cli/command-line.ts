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
  const line = words.join(' ');
  const colors = own.flatMap(
    (word, at) => (word === '--color' ? own[at + 1] : /^--color=(.*)$/s.exec(word)?.[1]) ?? [],
  );
  return {
    words,
    help: words.length === 0 ? '' : helpSubject(own),
    color: colors.at(-1),
    verbosity: Number(/(?:^| )(?:-v|--v|--verbosity)[ =]?(\d+)(?= |$)/.exec(line)?.[1] ?? 0),
    jsonLog: / --log-format[ =]json(?= |$)/.test(line),
  };
}

function helpSubject(words: string[]): string | undefined {
  const [first] = words;
  if (first === 'help') return words.filter(word => !word.startsWith('-'))[1] ?? '';
  if (words.includes('--help') || words.includes('-h')) return first?.startsWith('-') ? '' : first;
  return undefined;
}
