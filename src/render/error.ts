import { sanitizeLine } from './sanitize.ts';

/** A line of a message beyond this is cut: a value of a megabyte may stand in it. */
const LINE_LIMIT = 2000;

/** What is wrong, line by line, and what to do next: in the same line where there is but one. */
export function formatError(lines: readonly string[], next?: string): string {
  const text = `error: ${lines.map(oneLine).join('\n  ')}`;
  return next === undefined ? text : `${text}${lines.length > 1 ? '\n' : '; '}next: ${oneLine(next)}`;
}

/** A text in a log for machines, as long as in one for people. */
export function cutText(text: string): string {
  return text.length > LINE_LIMIT ? `${text.slice(0, LINE_LIMIT)}… (cut)` : text;
}

/** Text that may have others' in it, made safe and kept in one line: what follows a newline would pass for a line of ours. */
export function oneLine(text: string): string {
  // The rest need not be looked at.
  const safe = sanitizeLine(text.slice(0, LINE_LIMIT + 1));
  return safe.length > LINE_LIMIT ? `${safe.slice(0, LINE_LIMIT)}… (cut)` : safe;
}
