/** A word of a POSIX shell's line: plain characters, '…', "…" and \x in any order; a quote that is not closed is no word. */
const WORD = /(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gsu;
const PIECE = /\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"/gsu;

/** The words of the line, without its quotes; nothing is expanded. Undefined if a quote or an escape has no end. */
export function shellWords(line: string): string[] | undefined {
  if (line.replace(WORD, '').trim() !== '') return undefined;
  return (line.match(WORD) ?? []).map(word =>
    word.replace(
      PIECE,
      (_, escaped?: string, single?: string, double?: string) =>
        escaped ?? single ?? (double ?? '').replace(/\\(["\\$`])/g, '$1'),
    ),
  );
}
