/** Failed writes, as lines for stderr. */
import { summarized, type WriteFailure } from '../reconciler/failure.ts';
import { errorLine } from './error-line.ts';

/**
 * Nodes with the same failure share a line, and each next step is printed once.
 * @param about precedes each message: the name of the pool
 * @param said next steps printed before; those of these lines are added
 */
export function failureLines(failures: readonly WriteFailure[], about?: string, said = new Set<string>()): string[] {
  return summarized(failures).map(({ message, next }) => {
    if (next === undefined || said.has(next)) return errorLine({ message }, about);
    said.add(next);
    return errorLine({ message, next }, about);
  });
}
