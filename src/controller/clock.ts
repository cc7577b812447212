/** Time as a parameter, so that tests do not have to wait. */
export interface NowClock {
  /** Monotonic milliseconds from an arbitrary start. */
  now(): number;
}

export interface Clock extends NowClock {
  /** Calls back once after `ms`, never synchronously. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** The maximum of setTimeout (24.8 days). setTimeout calls back immediately if the delay is longer. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A delay of more than 24.8 days ends after 24.8 days. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 1), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` or when the signal is aborted. Check the signal to tell the two apart. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve();
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener('abort', end);
  });
}
