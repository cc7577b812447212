import type { NodepoolError } from '../nodepool/errors.ts';
import { formatError, oneLine } from '../render/error.ts';

/** What is shown of an error; `lines` where its message has several. */
export type Shown = { message: string } & Partial<Pick<NodepoolError, 'lines' | 'next'>>;

/**
 * The text of an error on stderr, one line unless it lists problems.
 * @param about what stands before the message: the pool that it is about
 */
export function errorLine({ message, lines = [message], next }: Shown, about?: string): string {
  const [head = '', ...items] = lines;
  return formatError([about === undefined ? head : `${about}: ${head}`, ...items], next);
}

export function warningLine(message: string): string {
  return `warning: ${oneLine(message)}`;
}
