/** Limits of the work of all reconciles of a process. */
import { createLimiter, type Limiter } from '../../controller/limiter.ts';

/** Pools reconciled at the same time. Each waits for its writes, which share `concurrency`. */
export const WORKERS = 16;

export interface Limiters {
  /** Limits the nodes and pools in progress, not requests: a node is planned right before its write. */
  limitObjects: Limiter;
  /** Limits the nodes whose pods are evicted. Called within limitObjects, whose slot it releases. */
  limitPolls: Limiter;
  /** Called within limitObjects, whose slot it releases: for a wait for other work that may need a slot to end. */
  aside: Limiter;
}

/** @param concurrency maximum number of requests in flight, as for the transport */
export function limitersOf(concurrency: number): Limiters {
  const limitObjects = createLimiter(concurrency);
  const polls = createLimiter(Math.max(1, Math.floor(concurrency / 2)));
  const { aside } = limitObjects;
  return { limitObjects, limitPolls: work => aside(() => polls(work)), aside };
}
