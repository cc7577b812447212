import type { PoolEventRecord } from './ports.ts';

/** For sorting: the event that was seen last comes last. */
export function oldestFirst(a: PoolEventRecord, b: PoolEventRecord): number {
  return a.lastSeen < b.lastSeen ? -1 : 1;
}
