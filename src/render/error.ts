import { sanitizeLine } from './sanitize.ts';
import { widthOf } from './width.ts';

/** Characters of a line: a message may contain a value of a megabyte. */
const LINE_LIMIT = 2000;

export function formatError(lines: readonly string[], next?: string, width?: number): string {
  return formatProblem('error', lines, next, width);
}

/**
 * The lines of an error or a warning, and the next step, on the same line if there is only one and it is not wider than
 * the width.
 */
export function formatProblem(
  level: 'error' | 'warning',
  lines: readonly string[],
  next?: string,
  width = Infinity,
): string {
  const text = `${level}: ${lines.map(oneLine).join('\n  ')}`;
  if (next === undefined) return text;
  const step = `next: ${oneLine(next)}`;
  return lines.length > 1 || widthOf(`${text}; ${step}`) > width ? `${text}\n${step}` : `${text}; ${step}`;
}

/** Cuts a value of a JSON log as oneLine() cuts a line. */
export function cutText(text: string): string {
  return text.length > LINE_LIMIT ? `${text.slice(0, LINE_LIMIT)}… (cut)` : text;
}

/** Escapes text that may contain text of others, newlines too: the rest would look like a line of this program. */
export function oneLine(text: string): string {
  // Cut before escaping: the rest is not shown.
  const safe = sanitizeLine(text.slice(0, LINE_LIMIT + 1));
  return safe.length > LINE_LIMIT ? `${safe.slice(0, LINE_LIMIT)}… (cut)` : safe;
}
