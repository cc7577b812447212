/**
 * Repairs of the last hour, by the Events of a pool: each one-shot run is a process of its own, and counts what those before it
 * did. Not guaranteed: an Event that is gone, or whose note is cut before the change, does not count, and nor do nodes that a
 * note does not name ("and 12 more").
 */
import type { EventsPort, PoolEventObject } from '../../../kube/resources/events.ts';
import { ifRefused } from '../../../nodepool/errors.ts';
import type { Change } from '../../../nodepool/plan/change.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { REASON } from '../../../reconciler/events.ts';
import { type EarlierRepairs, WINDOW_MS, whatOf } from '../../../reconciler/limits/contested-keys.ts';

/** As events.ts ends a change that repairs. */
const REPAIR = /\((drift|unmanaged)\)/;

/** @returns undefined for a user who may not list Events */
export async function earlierRepairs(
  { metadata: { name, uid } }: NodePool,
  events: Pick<EventsPort, 'listObjects'>,
  serverTime: () => Date,
): Promise<EarlierRepairs | undefined> {
  // Who may not list Events reconciles all the same.
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

/** By the server's clock: whoever wrote the Event may have another. */
function lastSeen({ firstSeen, lastSeen, object: { metadata } }: PoolEventObject): number {
  return Date.parse(metadata.creationTimestamp ?? firstSeen) + Date.parse(lastSeen) - Date.parse(firstSeen);
}

function isOf(change: Change, note: string): boolean {
  const what = whatOf(change);
  return ['set to', 'changed from', 'removed', 'restored to'].some(action => note.includes(`${what} ${action} `));
}

// Which nodes the note of an Event about a pool names.

const NAME_CHARACTER = /[a-z0-9.-]/;

/** As the notes of reconciler/events.ts and status.ts name them: in a list at the end, or after `node`. */
export function isNamedIn(note: string, node: string): boolean {
  const list = note.slice(note.lastIndexOf(': ') + 2);
  if (note.includes(': ') && list.split(', ').includes(node)) return true;
  return after('nodes? ', note, node);
}

/** Whether a list that begins after the word has the name. */
function after(word: string, note: string, node: string): boolean {
  for (const { index, 0: found } of note.matchAll(new RegExp(`\\b${word}`, 'g'))) {
    let at = index + found.length;
    // A list of names, separated by commas.
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
