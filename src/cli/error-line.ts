import type { NodepoolError } from '../nodepool/errors.ts';
import { formatError, formatWarning } from '../render/error.ts';

/** What is shown of an error; `lines` where its message has several. */
export type Shown = { message: string } & Partial<Pick<NodepoolError, 'lines' | 'next'>>;

/**
 * The text of an error on stderr, one line unless it lists problems.
 * @param about what stands before the message: the pool that it is about
 */
export function errorLine({ message, lines = [message], next }: Shown, about?: string): string {
  const [head = '', ...items] = lines.map(inLine);
  const first = about === undefined ? head : `${inLine(about)}: ${head}`;
  return formatError({
    message: [first, ...items].join('\n  '),
    next: next === undefined ? undefined : inLine(next),
  });
}

/** A line of a warning. */
export function warningLine(message: string): string {
  return formatWarning(inLine(message));
}

/** A newline is part of a value and is shown as one, or the rest of the value would pass for a line of ours. */
function inLine(text: string): string {
  return text.replaceAll('\n', '\\n');
}
