/** One-shot commands that Ctrl-C or SIGTERM stops between two writes. */
import { EXIT, showNote } from '../../../cli/errors.ts';
import type { Io } from '../../../cli/io.ts';
import { endBySignal, onStopSignal } from '../../../cli/signals.ts';
import { plural } from '../../../nodepool/text.ts';
import { movesOf, type PoolResult } from './apply.ts';

/**
 * Runs the work with a signal that the first Ctrl-C or SIGTERM aborts. A second one exits the process without waiting
 * for requests in flight.
 * @param onStop reports the first one
 */
export async function interruptible<T>(
  io: Io,
  work: (signal: AbortSignal) => Promise<T>,
  onStop = () => showNote(io, 'Shutting down: waiting for in-flight writes. Ctrl-C again exits at once.'),
): Promise<T> {
  const stopping = new AbortController();
  const unsubscribe = onStopSignal(() => {
    if (stopping.signal.aborted) {
      endBySignal('SIGINT');
      process.exit(EXIT.interrupted);
    }
    stopping.abort();
    onStop();
  });
  try {
    return await work(stopping.signal);
  } finally {
    unsubscribe();
  }
}

/** Whether the signal left writes undone; false where it came after the last one. */
export function isInterrupted(results: readonly PoolResult[]): boolean {
  return results.some(({ outcome, error }) => outcome?.kind === 'interrupted' || isNotBegun({ outcome, error }));
}

/** Prints what is done, what is left and how to go on; returns the exit code. */
export function showInterruption(io: Io, results: readonly PoolResult[]): number {
  const unwritten = results.reduce((sum, { outcome }) => sum + (outcome?.unwritten ?? 0), 0);
  const notBegun = results.filter(isNotBegun).length;
  const left = [
    ...(unwritten > 0 ? [`${plural(unwritten, 'node')} left`] : []),
    ...(notBegun > 0 ? [`${plural(notBegun, 'pool')} not begun`] : []),
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
