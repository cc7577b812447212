/** Writes that failed, as lines on stderr. */
import { summarized, type WriteFailure } from '../reconciler/failure.ts';
import { errorLine } from './error-line.ts';

/**
 * Nodes that failed alike share a line, and a next step is said once.
 * @param about what stands before each message: the pool that it is about
 * @param said next steps that were said before; those of these lines are added
 */
export function failureLines(failures: readonly WriteFailure[], about?: string, said = new Set<string>()): string[] {
  return summarized(failures).map(({ message, next }) => {
    if (next === undefined || said.has(next)) return errorLine({ message }, about);
    said.add(next);
    return errorLine({ message, next }, about);
  });
}
