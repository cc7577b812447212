/** What is read of a command line before oclif parses it: help, colours and errors follow it also where it does not parse. */
export interface CommandLine {
  /** What oclif gets. */
  words: string[];
  /** What help is asked for: a verb, '' for the whole program; undefined when none is. */
  help: string | undefined;
  /** The last `--color`, whatever it says. */
  color: string | undefined;
  verbosity: number;
  /** With `--log-format json` machines read stderr, and every line of it. */
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
