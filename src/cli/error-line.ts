import type { NodepoolError } from '../nodepool/errors.ts';
import { formatError, formatProblem } from '../render/error.ts';
import type { Io } from './io.ts';

/** The parts of an error that are printed; `lines` where its message has several. */
export type Shown = { message: string } & Partial<Pick<NodepoolError, 'lines' | 'next'>>;

/**
 * The text of an error on stderr, one line unless it lists problems.
 * @param about precedes the message: the name of the pool
 * @param width a longer line has the next step below it
 */
export function errorLine({ message, lines = [message], next }: Shown, about?: string, width?: number): string {
  const [head = '', ...items] = lines;
  return formatError([about === undefined ? head : `${about}: ${head}`, ...items], next, width);
}

/** Prints an error. A terminal would break the command of the next step where its line ends. */
export function showError(io: ErrorIo, error: Shown, about?: string): void {
  io.err(errorLine(error, about, errorWidth(io)));
}

export type ErrorIo = Pick<Io, 'err' | 'stderr' | 'stderrIsTTY'>;

/** Of the terminal that stderr is; in a pipe an error is one line, however long. */
export function errorWidth({ stderr, stderrIsTTY }: ErrorIo): number {
  return stderrIsTTY ? (stderr as NodeJS.WriteStream).columns || 80 : Infinity;
}

/** Prints each warning once: a command proposes again after a question. */
export function warnOnce(io: ErrorIo): (warnings: readonly string[]) => void {
  const said = new Set<string>();
  return warnings => {
    for (const warning of warnings) {
      if (!said.has(warning)) showWarning(io, warning);
      said.add(warning);
    }
  };
}

/** Prints a warning as showError() prints an error. @param message ends with `; next: …` where it has a next step */
export function showWarning(io: ErrorIo, message: string): void {
  io.err(warningLine(message, errorWidth(io)));
}

const NEXT = '; next: ';

/** As errorLine(), of the text of showWarning(). */
export function warningLine(message: string, width?: number): string {
  const at = message.lastIndexOf(NEXT);
  if (at < 0) return formatProblem('warning', [message]);
  return formatProblem('warning', [message.slice(0, at)], message.slice(at + NEXT.length), width);
}
