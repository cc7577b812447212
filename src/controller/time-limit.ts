/** One call with a time limit that can be extended, and that the call can end itself. */
import type { Clock } from './clock.ts';

export interface TimeLimitedCall<T> {
  /** Aborted as soon as the outcome is known; with a TimeoutError if the time limit passed. */
  readonly signal: AbortSignal;
  /** Ends the call with this result and ignores the result of `work`. */
  end(result: T): void;
  /** Sets the time limit to `ms` from now. */
  extend(ms: number): void;
}

/** The first of: `work`, end(), `late` after `ms`, `stopped` by the signal. Rejects if `work` rejects first. */
export function withTimeLimit<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  outcomes: { late: T; stopped: T },
  work: (attempt: TimeLimitedCall<T>) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const stop = () => finish(() => resolve(outcomes.stopped));
    const finish = (deliver: () => void, reason?: DOMException) => {
      if (inner.signal.aborted) return;
      cancel();
      signal.removeEventListener('abort', stop);
      deliver();
      inner.abort(reason);
    };
    const expire = () => finish(() => resolve(outcomes.late), new DOMException('time limit exceeded', 'TimeoutError'));
    const limit = (after: number) => clock.after(after, expire);
    let cancel = limit(ms);
    signal.addEventListener('abort', stop);
    if (signal.aborted) return stop();
    work({
      signal: inner.signal,
      end: result => finish(() => resolve(result)),
      extend: after => {
        if (inner.signal.aborted) return;
        cancel();
        cancel = limit(after);
      },
    }).then(
      result => finish(() => resolve(result)),
      error => finish(() => reject(error)),
    );
  });
}
