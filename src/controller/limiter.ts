/** Runs at most `most` functions at the same time; the others wait in order. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

export interface SlotLimiter {
  <T>(work: () => Promise<T>): Promise<T>;
  /** For a function that this limiter runs: releases its slot while `work` runs, then waits for a slot again. */
  aside: Limiter;
}

export function createLimiter(most: number): SlotLimiter {
  let running = 0;
  const waiting: (() => void)[] = [];
  const take = async () => {
    // A finished run passes its slot on, so `running` stays constant while others wait.
    if (running >= most) await new Promise<void>(resolve => waiting.push(resolve));
    else running++;
  };
  const give = () => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  };
  const limit: Limiter = async work => {
    await take();
    try {
      return await work();
    } finally {
      give();
    }
  };
  const aside: Limiter = async work => {
    give();
    try {
      return await work();
    } finally {
      await take();
    }
  };
  return Object.assign(limit, { aside });
}
