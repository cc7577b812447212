/**
 * Repairs of the last hour, from the Events of a pool: each one-shot run is a separate process, and counts repairs of
 * earlier ones. Not exact: expired Events, notes cut before the change, and nodes that a note does not name ("and 12
 * more") do not count.
 */
import type { EventsPort, PoolEventObject } from '../../../kube/resources/events.ts';
import { ifRefused } from '../../../nodepool/errors.ts';
import type { Change } from '../../../nodepool/plan/change.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { REASON } from '../../../reconciler/events.ts';
import { type EarlierRepairs, WINDOW_MS, whatOf } from '../../../reconciler/limits/contested-keys.ts';

/** The end of a change that repairs, as events.ts writes it. */
const REPAIR = /\((drift|unmanaged)\)/;

/** @returns undefined if the user may not list Events */
export async function earlierRepairs(
  { metadata: { name, uid } }: NodePool,
  events: Pick<EventsPort, 'listObjects'>,
  serverTime: () => Date,
): Promise<EarlierRepairs | undefined> {
  // Users who may not list Events can still reconcile.
  const found = await events.listObjects(name).catch(ifRefused(undefined));
  if (found === undefined) return undefined;
  const now = serverTime().getTime();
  const recent = found.filter(
    event =>
      event.reason === REASON.nodesUpdated &&
      REPAIR.test(event.note) &&
      event.poolUid === uid &&
      now - lastSeen(event) < WINDOW_MS,
  );
  return {
    hasAny: recent.length > 0,
    count: (change, node) =>
      recent
        .filter(({ note }) => isOf(change, note) && isNamedIn(note, node))
        .reduce((sum, { count }) => sum + count, 0),
  };
}

/** By the server's clock: the writer of the Event may have another. */
function lastSeen({ firstSeen, lastSeen, object: { metadata } }: PoolEventObject): number {
  return Date.parse(metadata.creationTimestamp ?? firstSeen) + Date.parse(lastSeen) - Date.parse(firstSeen);
}

function isOf(change: Change, note: string): boolean {
  const what = whatOf(change);
  return ['set to', 'changed from', 'removed', 'restored to'].some(action => note.includes(`${what} ${action} `));
}

// Which nodes the note of a pool's Event names.

const NAME_CHARACTER = /[a-z0-9.-]/;

/** In the format of reconciler/events.ts and status.ts: in a list at the end, or after `node`. */
export function isNamedIn(note: string, node: string): boolean {
  const list = note.slice(note.lastIndexOf(': ') + 2);
  if (note.includes(': ') && list.split(', ').includes(node)) return true;
  return after('nodes? ', note, node);
}

/** Whether the list after the word contains the name. */
function after(word: string, note: string, node: string): boolean {
  for (const { index, 0: found } of note.matchAll(new RegExp(`\\b${word}`, 'g'))) {
    let at = index + found.length;
    // Names are separated by commas.
    for (;;) {
      let end = at;
      while (end < note.length && NAME_CHARACTER.test(note[end] ?? '')) end++;
      if (note.slice(at, end) === node) return true;
      if (end === at || !note.startsWith(', ', end)) break;
      at = end + 2;
    }
  }
  return false;
}
