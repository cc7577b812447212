/** What is asked for when these arguments ask for help: a verb, '' for the whole program; undefined when they do not. */
export function helpSubject(argv: string[]): string | undefined {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const words = own.filter(arg => !arg.startsWith('-'));
  if (argv.length === 0) return '';
  if (own[0] === 'help') return words[1] ?? '';
  if (own.includes('--help') || own.includes('-h')) return own[0]?.startsWith('-') ? '' : own[0];
  return undefined;
}
