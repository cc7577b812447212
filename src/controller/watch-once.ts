/** One watch request of a reflector: how long it may take, and what its end means. */
import { attempt } from './attempt.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import { broken, type Failure, type Source } from './source.ts';

const MIN_WATCH_S = 28;
const WATCH_SPREAD_S = 7;
const WATCH_GRACE_MS = 5_000;
/** A shorter watch without events counts as a failure (client-go's rule), or a server could cause a busy loop. */
const MIN_USEFUL_WATCH_MS = 1_000;

/** What to do next: continue, list again, or wait. */
export type Outcome = { kind: 'fine' } | { kind: 'expired' } | Failure;

export interface WatchOptions {
  source: Pick<Source, 'watch'>;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  log: Log;
}

export interface WatchHandlers {
  /** @param end ends the watch without a failure */
  onBegin: (end: () => void) => void;
  /** Called with every line until the end. Returns the outcome when the line ends the watch. */
  onLine: (json: unknown) => Outcome | undefined;
}

/** The server is asked to end the watch after 28 to 34 s; one that lasts 5 s longer is dead. */
export function watchOnce(
  { source, clock, random, log }: WatchOptions,
  resourceVersion: string | undefined,
  signal: AbortSignal,
  { onBegin, onLine }: WatchHandlers,
): Promise<Outcome> {
  const timeoutSeconds = MIN_WATCH_S + Math.floor(random() * WATCH_SPREAD_S);
  const limitMs = timeoutSeconds * 1000 + WATCH_GRACE_MS;
  log('debug', `watching from resourceVersion ${resourceVersion}, for ${timeoutSeconds} s`);
  const start = clock.now();
  const outcomes = { late: broken('the watch fell silent'), stopped: broken('stopped') };
  return attempt<Outcome>(clock, limitMs, signal, outcomes, async inner => {
    onBegin(() => inner.end({ kind: 'fine' }));
    let lines = 0;
    const options = { resourceVersion, initialEvents: false, timeoutSeconds, signal: inner.signal };
    const ended = await source.watch(options, json => {
      if (inner.signal.aborted) return;
      lines += 1;
      const problem = onLine(json);
      if (problem !== undefined) inner.end(problem);
    });
    if (ended.kind === 'refused' && ended.status === 410) return { kind: 'expired' };
    if (ended.kind !== 'ended') return ended;
    const isUseful = lines > 0 || clock.now() - start >= MIN_USEFUL_WATCH_MS;
    return isUseful ? { kind: 'fine' } : broken('the watch ended at once');
  });
}
