/** What bounds the work of all reconciles of a process together. */
import { createLimiter, type Limiter } from '../../controller/limiter.ts';

/** Pools that are reconciled at the same time: each waits for its writes, which `concurrency` bounds over all of them. */
export const WORKERS = 16;

export interface Limiters {
  /** Bounds the nodes and pools in progress, not requests: a node is planned right before its write. */
  limitObjects: Limiter;
  /** Bounds the nodes whose pods are evicted; called within limitObjects, and gives the slot there away. */
  limitPolls: Limiter;
}

/** @param concurrency requests in flight at most, as the transport has it */
export function limitersOf(concurrency: number): Limiters {
  const limitObjects = createLimiter(concurrency);
  const polls = createLimiter(Math.max(1, Math.floor(concurrency / 2)));
  return { limitObjects, limitPolls: work => limitObjects.aside(() => polls(work)) };
}
