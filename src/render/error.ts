import { sanitizeText } from './sanitize.ts';

/** A line of a message beyond this is cut: a value of a megabyte may stand in it. */
const LINE_LIMIT = 2000;

/** One line where the message is one: what is wrong, and what to do next. Cluster text in it is made safe. */
export function formatError({ message, next }: { message: string; next?: string | undefined }): string {
  const text = `error: ${cutLines(sanitizeText(message))}`;
  if (next === undefined) return text;
  return `${text}${text.includes('\n') ? '\n' : '; '}next: ${cutLines(sanitizeText(next))}`;
}

/** One line. */
export function formatWarning(message: string): string {
  return `warning: ${cutLines(sanitizeText(message))}`;
}

function cutLines(text: string): string {
  const cut = (line: string) => (line.length > LINE_LIMIT ? `${line.slice(0, LINE_LIMIT)}… (cut)` : line);
  return text.split('\n').map(cut).join('\n');
}
