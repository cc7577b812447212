/** How many Events there were lately, by their type. */
import type { PoolEventRecord } from '../../kube/connection.ts';

export interface EventCount {
  /** The start of the interval. */
  from: Date;
  normal: number;
  /** Of the type Warning. */
  warning: number;
}

export interface EventTrend {
  intervalMs: number;
  /** The oldest first; the last one ends now. */
  counts: EventCount[];
  /** Events that were seen before the first one. */
  earlier: number;
}

const INTERVAL_MS = 5 * 60_000;
/** The server keeps Events for an hour by default. */
const INTERVALS = 12;

/** A repeated Event counts once, when it was seen last: the times of the others are not known. */
export function eventTrend(events: readonly Pick<PoolEventRecord, 'lastSeen' | 'type'>[], now: Date): EventTrend {
  const end = Math.floor(now.getTime() / INTERVAL_MS + 1) * INTERVAL_MS;
  const start = end - INTERVALS * INTERVAL_MS;
  const counts = Array.from({ length: INTERVALS }, (_, at): EventCount => {
    return { from: new Date(start + at * INTERVAL_MS), normal: 0, warning: 0 };
  });
  let earlier = 0;
  for (const { lastSeen, type } of events) {
    const at = Math.floor((Date.parse(lastSeen) - start) / INTERVAL_MS);
    // A clock that is ahead of the server's counts as now.
    const interval = counts[Math.min(at, INTERVALS - 1)];
    if (interval === undefined) earlier++;
    else if (type === 'Warning') interval.warning++;
    else interval.normal++;
  }
  return { intervalMs: INTERVAL_MS, counts, earlier };
}
