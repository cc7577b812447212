/** A watch: prints the objects, then every change, until Ctrl-C or until stdout is closed. */

import type { Io } from '../../cli/io.ts';
import { EXIT } from '../../cli/report-error.ts';
import { leaveSoon, onStopSignal } from '../../cli/signals.ts';
import { systemClock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import type { Watched } from '../../controller/source.ts';
import { follow } from '../../operations/follow.ts';
import { oneLine } from '../../render/error.ts';

/** Info entries are logged from this -v on, as by reconcile --watch; warnings and errors always. */
const INFO_VERBOSITY = 4;

export interface Changes<T> {
  resource: string;
  watched: Watched<T | undefined>;
  onStart: (objects: T[]) => void;
  onChanged: (object: T, type: 'ADDED' | 'MODIFIED') => void;
  onDeleted: (object: T) => void;
}

/** Returns the exit code. */
export async function showChanges<T>(changes: Changes<T>, verbosity: number, io: Io): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  let failure: { error: unknown } | undefined;
  /** A failed print ends the watch: the next change would fail as well. */
  const guarded =
    <A extends unknown[]>(show: (...args: A) => void) =>
    (...args: A) => {
      try {
        if (failure === undefined) show(...args);
      } catch (error) {
        failure = { error };
        stop();
      }
    };
  const log: Log = (level, message) => {
    const text = oneLine(message.replaceAll('\n', ' '));
    if (level === 'warning' || level === 'error') io.err(`${level}: ${text}`);
    else if (verbosity >= INFO_VERBOSITY) io.err(text);
  };
  const unsubscribe = onStopSignal(stop);
  // The reader has gone (`| head`); io.ts ignores the error itself.
  io.stdout.once('error', stop);
  try {
    const { resource, watched, onStart, onChanged, onDeleted } = changes;
    const handlers = { onStart: guarded(onStart), onChanged: guarded(onChanged), onDeleted: guarded(onDeleted) };
    const deps = { clock: systemClock, random: Math.random, log };
    await follow({ resource, watched, ...handlers, signal: stopping.signal }, deps);
    if (failure !== undefined) throw failure.error;
    return EXIT.done;
  } finally {
    leaveSoon();
    unsubscribe();
    io.stdout.off('error', stop);
  }
}
