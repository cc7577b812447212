import type { PoolEventRecord } from '../../../kube/connection.ts';

type Seen = Pick<PoolEventRecord, 'lastSeen'>;

/** For sorting: the event that was seen last comes last. The server leaves out a fraction that is none: `01Z` is before `01.9Z`. */
export function oldestFirst(a: Seen, b: Seen): number {
  const [first, second] = [instant(a), instant(b)];
  if (first.ms !== second.ms) return first.ms - second.ms;
  return first.fraction < second.fraction ? -1 : first.fraction > second.fraction ? 1 : 0;
}

/** A Date has milliseconds, an Event microseconds. What is no time is older than all that is. */
function instant({ lastSeen }: Seen): { ms: number; fraction: string } {
  const ms = Date.parse(lastSeen);
  const [, fraction = ''] = /\.(\d+)/.exec(lastSeen) ?? [];
  return { ms: Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms, fraction: fraction.padEnd(9, '0') };
}
