/** Failed writes, as lines for stderr. */

import { type ErrorIo, errorLine, errorWidth } from '../../../cli/error-line.ts';
import { summarized, type WriteFailure } from '../../../reconciler/failure.ts';

/**
 * Nodes with the same failure share a line, and each next step is printed once.
 * @param about precedes each message: the name of the pool
 * @param said next steps printed before; those of these lines are added
 * @param width of a terminal
 */
export function failureLines(
  failures: readonly WriteFailure[],
  about?: string,
  said = new Set<string>(),
  width?: number,
): string[] {
  return summarized(failures).map(({ message, next }) => {
    if (next === undefined || said.has(next)) return errorLine({ message }, about, width);
    said.add(next);
    return errorLine({ message, next }, about, width);
  });
}

/** Prints the lines of failureLines(). */
export function showFailures(io: ErrorIo, failures: readonly WriteFailure[], about?: string, said?: Set<string>): void {
  for (const line of failureLines(failures, about, said, errorWidth(io))) io.err(line);
}
