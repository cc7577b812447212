import { sanitizeLine } from './sanitize.ts';
import { widthOf, wrapWords } from './width.ts';

/** Maximum characters of a line: a message may contain a value of a megabyte. */
const LINE_LIMIT = 2000;

export function formatError(lines: readonly string[], next?: string, width?: number): string {
  return formatProblem('error', lines, next, width);
}

/** The next step goes on the same line if it is the only item and fits. Longer lines are wrapped. */
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

/** Wraps a line for stderr. The rest is indented more than any error line: text of others cannot imitate one. */
export function wrapProse(line: string, width: number): string[] {
  const [lead = ''] = /^(error|warning|note|next): |^/.exec(line) ?? [];
  return wrapWords(line, width, ' '.repeat(Math.max(lead.length, 6)));
}

/** Cuts a value in a JSON log, as oneLine() cuts a line. */
export function cutText(text: string): string {
  return text.length > LINE_LIMIT ? `${text.slice(0, LINE_LIMIT)}… (cut)` : text;
}

/** Escapes untrusted text, including newlines: a second line would look like output of this program. */
export function oneLine(text: string): string {
  // Cut before escaping, since the rest is not shown.
  const safe = sanitizeLine(text.slice(0, LINE_LIMIT + 1));
  return safe.length > LINE_LIMIT ? `${safe.slice(0, LINE_LIMIT)}… (cut)` : safe;
}
