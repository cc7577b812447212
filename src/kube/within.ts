/** Time limits of promises. */
import type { Clock } from '../controller/clock.ts';

/** Resolves or rejects as `work` does, or rejects with `late()` after `ms`. The work is not cancelled. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let cancel = () => {};
  const limit = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(ms, () => reject(late()));
  });
  return Promise.race([work, limit]).finally(() => cancel());
}
