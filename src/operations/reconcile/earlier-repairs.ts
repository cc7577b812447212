/**
 * Repairs of the last hour, by the Events of a pool: each one-shot run is a process of its own, and counts what those before it
 * did. Not guaranteed: an Event that is gone, or whose note is cut before the change, does not count, and nor do nodes that a
 * note does not name ("and 12 more").
 */
import type { Change } from '../../nodepool/change.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type EarlierRepairs, WINDOW_MS, whatOf } from '../../reconciler/contests.ts';
import { REASON } from '../../reconciler/events.ts';
import { isNamedIn } from '../history/named-in.ts';
import type { EventsPort } from '../ports.ts';

/** As events.ts ends a change that repairs. */
const REPAIR = /\((drift|unmanaged)\)/;

/** @returns undefined for a user who may not list Events */
export async function earlierRepairs(
  { metadata: { name, uid } }: NodePool,
  events: Pick<EventsPort, 'list'>,
  now: Date,
): Promise<EarlierRepairs | undefined> {
  try {
    const recent = (await events.list(name)).filter(
      ({ reason, note, poolUid, lastSeen }) =>
        reason === REASON.nodesUpdated &&
        REPAIR.test(note) &&
        poolUid === uid &&
        now.getTime() - Date.parse(lastSeen) < WINDOW_MS,
    );
    return {
      hasAny: recent.length > 0,
      count: (change, node) =>
        recent
          .filter(({ note }) => isOf(change, note) && isNamedIn(note, node))
          .reduce((sum, { count }) => sum + count, 0),
    };
  } catch (error) {
    // Who may not list Events reconciles all the same.
    if (error instanceof NodepoolError) return undefined;
    throw error;
  }
}

function isOf(change: Change, note: string): boolean {
  const what = whatOf(change);
  return ['set to', 'changed from', 'removed', 'restored to'].some(action => note.includes(`${what} ${action} `));
}
