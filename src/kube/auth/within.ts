import type { Clock } from '../../controller/clock.ts';

/** The outcome of work, or `late()` as an error when that takes longer. The work goes on. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let cancel = () => {};
  const limit = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(ms, () => reject(late()));
  });
  return Promise.race([work, limit]).finally(() => cancel());
}
