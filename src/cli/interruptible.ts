/** One-shot commands that Ctrl-C or SIGTERM ends between two writes. */
import { plural } from '../nodepool/plural.ts';
import type { Io } from './io.ts';
import { EXIT } from './report-error.ts';
import { onStopSignal } from './signals.ts';

/**
 * Runs the work with a signal that the first Ctrl-C or SIGTERM aborts. A second one ends the process at once, without
 * waiting for the requests under way.
 * @returns what the work gave, and whether it was interrupted
 */
export async function interruptible<T>(
  io: Io,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ result: T; isInterrupted: boolean }> {
  const over = new AbortController();
  const end = onStopSignal(() => {
    if (over.signal.aborted) process.exit(EXIT.interrupted);
    over.abort();
    io.err('Stopping: waiting for the writes under way. Ctrl-C again ends it at once.');
  });
  try {
    return { result: await work(over.signal), isInterrupted: over.signal.aborted };
  } finally {
    end();
  }
}

/** What is done, what is left and how to go on; @returns the exit code */
export function reportInterruption(io: Io, written: number, unwritten: number): number {
  const left = unwritten === 0 ? 'status not written yet' : `${plural(unwritten, 'node')} left`;
  io.err(`interrupted: ${plural(written, 'node')} written, ${left}; run the command again to finish`);
  return EXIT.interrupted;
}
