/** A watch: prints the objects, then every change, until Ctrl-C or until stdout is closed. */
import { showNote } from '../../cli/error-line.ts';
import type { Io } from '../../cli/io.ts';
import { EXIT } from '../../cli/report-error.ts';
import { leaveSoon, onStopSignal } from '../../cli/signals.ts';
import { systemClock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import { oneLine } from '../../print/error.ts';
import { type ApiObject, type ObjectFormat, printObjects, printWatchEvent } from '../../print/printers.ts';
import { type ChangeType, type FollowDeps, type FollowOptions, follow } from './follow.ts';

/** Info entries are logged from this -v on, as by reconcile --watch; warnings and errors always. */
const INFO_VERBOSITY = 4;

export interface WatchOptions {
  /** That of -v. */
  verbosity: number;
  /** --request-timeout, which ends a watch too, as with kubectl; undefined and 0: none. */
  requestTimeoutMs: number | undefined;
}

export type Changes<T> = Pick<FollowOptions<T>, 'resource' | 'watched' | 'onStart' | 'onChanged' | 'onDeleted'>;

/** Makes a function whose error ends the watch: the next call would fail as well. */
type Guarded = <A extends unknown[]>(show: (...args: A) => void) => (...args: A) => void;

/** Returns the exit code. */
export function showChanges<T>(changes: Changes<T>, options: WatchOptions, io: Io): Promise<number> {
  const { resource, watched, onStart, onChanged, onDeleted } = changes;
  return untilStopped(
    (signal, guarded, deps) => {
      const handlers = { onStart: guarded(onStart), onChanged: guarded(onChanged), onDeleted: guarded(onDeleted) };
      return follow({ resource, watched, ...handlers, signal }, deps);
    },
    options,
    io,
  );
}

/** Runs it until Ctrl-C, the timeout, stdout is closed or a guarded function fails. Returns the exit code. */
export async function untilStopped(
  run: (signal: AbortSignal, guarded: Guarded, deps: FollowDeps) => Promise<void>,
  { verbosity, requestTimeoutMs }: WatchOptions,
  io: Io,
): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  let failure: { error: unknown } | undefined;
  const guarded: Guarded =
    show =>
    (...args) => {
      try {
        if (failure === undefined) show(...args);
      } catch (error) {
        failure = { error };
        stop();
      }
    };
  const log: Log = (level, message) => {
    const text = oneLine(message.replaceAll('\n', ' '));
    if (level === 'warning' || level === 'error') showNote(io, `${level}: ${text}`);
    else if (verbosity >= INFO_VERBOSITY) io.err(text);
  };
  let isInterrupted = false;
  const unsubscribe = onStopSignal(signal => {
    isInterrupted = signal === 'SIGINT';
    stop();
  });
  const timer = requestTimeoutMs ? setTimeout(stop, requestTimeoutMs) : undefined;
  // The reader has gone (`| head`); io.ts ignores the error itself.
  io.stdout.once('error', stop);
  try {
    await run(stopping.signal, guarded, { clock: systemClock, random: Math.random, log });
    if (failure !== undefined) throw failure.error;
    // As kubectl, so that Ctrl-C ends the loop of a shell, too.
    return isInterrupted ? EXIT.interrupted : EXIT.done;
  } finally {
    leaveSoon();
    clearTimeout(timer);
    unsubscribe();
    io.stdout.off('error', stop);
  }
}

// Objects one after another, not in a List, as `kubectl get --watch -o json|yaml|name` prints them.

/**
 * Returns the printer, which gives the text of an object without the last newline.
 * @param asEvents as watch events: `--output-watch-events`
 */
export function objectStream(format: ObjectFormat, asEvents: boolean): (object: ApiObject, type: ChangeType) => string {
  let separator = '';
  return (object, type) => {
    const text = asEvents ? printWatchEvent(type, object, format) : printObjects([object], format, false);
    const separated = separator + text;
    if (format === 'yaml') separator = '---\n';
    return separated;
  };
}
