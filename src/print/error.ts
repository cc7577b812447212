import { sanitizeLine } from './sanitize.ts';
import { widthOf, wrapWords } from './width.ts';

/** Characters of a line: a message may contain a value of a megabyte. */
const LINE_LIMIT = 2000;

export function formatError(lines: readonly string[], next?: string, width?: number): string {
  return formatProblem('error', lines, next, width);
}

/** The next step is on the same line if there is only one and it fits. Wider lines are wrapped. */
export function formatProblem(
  level: 'error' | 'warning',
  lines: readonly string[],
  next?: string,
  width = Infinity,
): string {
  const [head = '', ...items] = lines.map(oneLine);
  const text = [`${level}: ${head}`, ...items.map(item => `  ${item}`)];
  const step = next === undefined ? [] : [`next: ${oneLine(next)}`];
  const whole = [...text, ...step].join('; ');
  if (items.length === 0 && (width === Infinity || widthOf(whole) <= width)) return whole;
  if (width === Infinity) return [...text, ...step].join('\n');
  return [...text, ...step].flatMap(line => wrapProse(line, width)).join('\n');
}

/** Wraps a line of stderr. The rest is deeper than any line of an error: text of others cannot pass for one. */
export function wrapProse(line: string, width: number): string[] {
  const [lead = ''] = /^(error|warning|note|next): |^/.exec(line) ?? [];
  return wrapWords(line, width, ' '.repeat(Math.max(lead.length, 6)));
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
