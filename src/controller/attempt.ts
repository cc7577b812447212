/** One try at something that may never end: with a limit of time that can be moved, and a way to end it from inside. */
import type { Clock } from './clock.ts';

export interface Attempt<T> {
  /** Aborted as soon as the result is known, whoever gave it; for the reason TimeoutError where the limit passed. */
  readonly signal: AbortSignal;
  /** This is the result; what the work itself gives later is dropped. */
  end(result: T): void;
  /** Moves the limit to `ms` from now. */
  extend(ms: number): void;
}

/**
 * Resolves with the first of: what `work` gives, what it ends itself with, `late` after `ms`, `stopped` when the signal
 * is aborted. Rejects when `work` does, if that is first.
 */
export function attempt<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  outcomes: { late: T; stopped: T },
  work: (attempt: Attempt<T>) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const stop = () => settle(() => resolve(outcomes.stopped));
    const settle = (tell: () => void, reason?: DOMException) => {
      if (inner.signal.aborted) return;
      cancel();
      signal.removeEventListener('abort', stop);
      tell();
      inner.abort(reason);
    };
    const expire = () => settle(() => resolve(outcomes.late), new DOMException('the limit passed', 'TimeoutError'));
    const limit = (after: number) => clock.after(after, expire);
    let cancel = limit(ms);
    signal.addEventListener('abort', stop);
    if (signal.aborted) return stop();
    work({
      signal: inner.signal,
      end: result => settle(() => resolve(result)),
      extend: after => {
        if (inner.signal.aborted) return;
        cancel();
        cancel = limit(after);
      },
    }).then(
      result => settle(() => resolve(result)),
      error => settle(() => reject(error)),
    );
  });
}
