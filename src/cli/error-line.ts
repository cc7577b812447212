import { type NodepoolError, type Warning, warningText } from '../nodepool/errors.ts';
import { formatError, formatProblem, wrapProse } from '../print/error.ts';
import type { Io } from './io.ts';

/** The parts of an error that are printed; `lines` where its message has several. */
export type Shown = { message: string } & Partial<Pick<NodepoolError, 'lines' | 'next'>>;

/**
 * The text of an error on stderr, one line unless it lists problems.
 * @param about precedes the message: the name of the pool
 * @param width a longer line is wrapped, with the next step below it
 */
export function errorLine({ message, lines = [message], next }: Shown, about?: string, width?: number): string {
  const [head = '', ...items] = lines;
  return formatError([about === undefined ? head : `${about}: ${head}`, ...items], next, width);
}

/** Prints an error. A terminal would break words where its line ends. */
export function showError(io: ErrorIo, error: Shown, about?: string): void {
  io.err(errorLine(error, about, errorWidth(io)));
}

export type ErrorIo = Pick<Io, 'err' | 'stderr' | 'stderrIsTTY'>;

/** Of the terminal that stderr is; in a pipe an error is one line, however long. */
export function errorWidth({ stderr, stderrIsTTY }: ErrorIo): number {
  return stderrIsTTY ? (stderr as NodeJS.WriteStream).columns || 80 : Infinity;
}

/** Prints a note on stderr. */
export function showNote(io: ErrorIo, text: string): void {
  io.err(noteLine(text, errorWidth(io)));
}

/** Text that is escaped, wrapped as errorLine() wraps. */
export function noteLine(text: string, width: number): string {
  return width === Infinity ? text : wrapProse(text, width).join('\n');
}

/** Prints each warning once: a command proposes again after a question. */
export function warnOnce(io: ErrorIo): (warnings: readonly Warning[]) => void {
  const said = new Set<string>();
  return warnings => {
    for (const warning of warnings) {
      const text = warningText(warning);
      if (!said.has(text)) showWarning(io, warning);
      said.add(text);
    }
  };
}

/** Prints a warning as showError() prints an error. */
export function showWarning(io: ErrorIo, warning: Warning): void {
  io.err(warningLine(warning, errorWidth(io)));
}

/** As errorLine(), of a warning. */
export function warningLine(warning: Warning, width?: number): string {
  if (typeof warning === 'string') return formatProblem('warning', [warning], undefined, width);
  return formatProblem('warning', [warning.message], warning.next, width);
}
