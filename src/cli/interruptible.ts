/** One-shot commands that Ctrl-C or SIGTERM ends between two writes. */
import { plural } from '../nodepool/plural.ts';
import { movesOf, type PoolResult } from '../operations/apply.ts';
import type { Io } from './io.ts';
import { EXIT } from './report-error.ts';
import { onStopSignal } from './signals.ts';

/**
 * Runs the work with a signal that the first Ctrl-C or SIGTERM aborts. A second one ends the process at once, without
 * waiting for the requests under way.
 */
export async function interruptible<T>(io: Io, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const end = onStopSignal(() => {
    if (over.signal.aborted) process.exit(EXIT.interrupted);
    over.abort();
    io.err('Stopping: waiting for the writes under way. Ctrl-C again ends it at once.');
  });
  try {
    return await work(over.signal);
  } finally {
    end();
  }
}

/** Whether the signal left something undone: else it came when all was written. */
export function isInterrupted(results: readonly PoolResult[]): boolean {
  return results.some(({ outcome, error }) => outcome?.kind === 'interrupted' || isNotBegun({ outcome, error }));
}

/** Says what is done, what is left and how to go on; returns the exit code. */
export function reportInterruption(io: Io, results: readonly PoolResult[]): number {
  const unwritten = results.reduce((sum, { outcome }) => sum + (outcome?.unwritten ?? 0), 0);
  const notBegun = results.filter(isNotBegun).length;
  const left = [
    ...(unwritten > 0 ? [`${plural(unwritten, 'node')} left`] : []),
    ...(notBegun > 0 ? [`${plural(notBegun, 'pool')} not begun`] : []),
  ];
  const rest = left.length === 0 ? 'status not written yet' : left.join(', ');
  io.err(`interrupted: ${plural(movesOf(results).length, 'node')} written, ${rest}; run the command again to finish`);
  return EXIT.interrupted;
}

function isNotBegun({ outcome, error }: Pick<PoolResult, 'outcome' | 'error'>): boolean {
  return outcome === undefined && error === undefined;
}
