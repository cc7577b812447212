import { sanitizeText } from './sanitize.ts';

/** One line where the message is one: what is wrong, and what to do next. Cluster text in it is made safe. */
export function formatError({ message, next }: { message: string; next?: string | undefined }): string {
  const text = `error: ${sanitizeText(message)}`;
  if (next === undefined) return text;
  return `${text}${text.includes('\n') ? '\n' : '; '}next: ${sanitizeText(next)}`;
}
