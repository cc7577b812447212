import { EXIT, showNote } from './errors.ts';
import type { Io } from './io.ts';

/** Interval at which to check whether stdout and stderr are flushed. */
const FLUSH_CHECK_MS = 1_000;

/** Calls back on each SIGINT (Ctrl-C) and SIGTERM; returns a function that unsubscribes. */
export function onStopSignal(callback: (signal: NodeJS.Signals) => void): () => void {
  return onSignals(['SIGINT', 'SIGTERM'], callback);
}

/** Like onStopSignal(), and also on SIGHUP, which is sent when the terminal is closed. */
export function onEndingSignal(callback: (signal: NodeJS.Signals) => void): () => void {
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], callback);
}

function onSignals(signals: readonly NodeJS.Signals[], callback: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of signals) process.on(signal, callback);
  return () => {
    for (const signal of signals) process.off(signal, callback);
  };
}

/**
 * Ends the process by the signal, as if it were not caught: a shell ends the loop around the command only after SIGINT.
 * Does nothing where this is impossible (Windows, process 1 of a container); the exit code then says the same.
 */
export function endBySignal(signal: NodeJS.Signals): void {
  if (process.platform === 'win32') return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * Exits soon, even if something that cannot be cancelled keeps the process alive, such as a hanging login. Waits for
 * slow readers of stdout and stderr.
 */
export function leaveSoon(): void {
  const exitWhenFlushed = () => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  };
  setInterval(exitWhenFlushed, FLUSH_CHECK_MS).unref();
}

/**
 * Runs the work with an AbortSignal that the first Ctrl-C or SIGTERM aborts. A second one exits the process without
 * waiting for requests in flight.
 * @param onStop called at the first one
 */
export async function interruptible<T>(
  io: Io,
  work: (signal: AbortSignal) => Promise<T>,
  onStop = () => showNote(io, 'Shutting down: waiting for in-flight writes. Press Ctrl-C again to exit at once.'),
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
