/** Time as a parameter, so that every delay and deadline of this folder can be tried without waiting. */
export interface Clock {
  /** Milliseconds that only grow; of no meaning but their difference. */
  now(): number;
  /** Calls back once after `ms`, never at once; returns what cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** What setTimeout takes (24.8 days); it calls back at once for more. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Not guaranteed: a wait of more than 24.8 days; it ends then. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 1), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or as soon as the signal is aborted: who cares which asks the signal. */
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
