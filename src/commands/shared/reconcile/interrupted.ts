/** Messages of a run that Ctrl-C or SIGTERM stopped between two writes. */
import { EXIT, showNote } from '../../../cli/errors.ts';
import type { Io } from '../../../cli/io.ts';
import { plural } from '../../../nodepool/text.ts';
import { movesOf, type PoolResult } from './apply.ts';

/** Whether the signal left writes undone; false if it came after the last write. */
export function isInterrupted(results: readonly PoolResult[]): boolean {
  return results.some(({ outcome, error }) => outcome?.kind === 'interrupted' || isNotBegun({ outcome, error }));
}

/** Prints what is done, what remains and how to continue; returns the exit code. */
export function showInterruption(io: Io, results: readonly PoolResult[]): number {
  const unwritten = results.reduce((sum, { outcome }) => sum + (outcome?.unwritten ?? 0), 0);
  const notBegun = results.filter(isNotBegun).length;
  const left = [
    ...(unwritten > 0 ? [`${plural(unwritten, 'node')} left`] : []),
    ...(notBegun > 0 ? [`${plural(notBegun, 'pool')} not started`] : []),
  ];
  const rest = left.length === 0 ? 'status not written yet' : left.join(', ');
  const unfinished = new Set(results.flatMap(({ outcome }) => outcome?.unfinished ?? []));
  const nodes = new Set(movesOf(results).flatMap(({ node }) => (unfinished.has(node) ? [] : node)));
  const written = plural(nodes.size, 'node');
  showNote(io, `interrupted: ${written} written, ${rest}; run the command again to finish`);
  return EXIT.interrupted;
}

function isNotBegun({ outcome, error }: Pick<PoolResult, 'outcome' | 'error'>): boolean {
  return outcome === undefined && error === undefined;
}
