/** Joins what several sources say of one change, orders entries, and chooses those that are wanted. */

import type { PoolEventRecord } from '../../kube/resources/events.ts';
import { oldestFirst } from '../shared/describe/print-events.ts';

/** So much later than the write is its Event sent, at most, to be joined with it: the Events of a pool follow its last node. */
const SAME_MS = 10_000;
/** managedFields and conditions have whole seconds. */
const SECOND_MS = 1_000;

export interface Wanted {
  /** Only entries of so many milliseconds up to now, and those without a time. */
  sinceMs: number | undefined;
  /** Only the last ones. */
  limit: number | undefined;
  now: Date;
}

/**
 * The oldest first; those without a time last: they are so now. Within a second, of which objects do not know the part: what was
 * created comes before all that happened to it, and what a reconcile found at its end comes after what it did.
 */
export function ordered(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const dated = entries.filter(({ time }) => time !== undefined);
  const undated = entries.filter(({ time }) => time === undefined);
  const order = (a: HistoryEntry, b: HistoryEntry) =>
    oldestFirst(second(a), second(b)) || rankOf(a) - rankOf(b) || oldestFirst(seen(a), seen(b));
  return [...dated.toSorted(order), ...undated];
}

function second({ time = '' }: HistoryEntry): { lastSeen: string } {
  return { lastSeen: time.replace(/\.\d+/, '') };
}

function rankOf({ what, sources, node }: HistoryEntry): number {
  if (what === 'PoolCreated' || what === 'NodeRegistered') return 0;
  // The status of a pool; a node has its conditions from its kubelet.
  const isStatus = what === 'StatusWritten' || (node === undefined && sources.join() === 'condition');
  return isStatus ? 2 : 1;
}

/** Of ordered(). */
export function wanted(entries: readonly HistoryEntry[], { sinceMs, limit, now }: Wanted): HistoryEntry[] {
  const from = sinceMs === undefined ? Number.NEGATIVE_INFINITY : now.getTime() - sinceMs;
  const recent = entries.filter(({ time }) => time === undefined || !(Date.parse(time) < from));
  return limit === undefined ? recent : recent.slice(Math.max(0, recent.length - limit));
}

/**
 * An Event stands for the entries that tell the same: those that name its reason in `sameAs`, of the same object, and at
 * most SAME_MS before it. It then has their sources, too.
 */
export function merged(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const isEvent = ({ sources }: HistoryEntry) => sources.includes('Event');
  const events = new Map(entries.filter(isEvent).map(event => [event, event]));
  const rest = entries.filter(entry => {
    if (isEvent(entry)) return false;
    const event = [...events.keys()].filter(each => isSame(entry, each)).toSorted(byTime)[0];
    const joined = event && events.get(event);
    if (event === undefined || joined === undefined) return true;
    const sources = [...new Set([...joined.sources, ...entry.sources])];
    events.set(event, { ...joined, who: joined.who ?? entry.who, sources });
    return false;
  });
  return [...rest, ...events.values()];
}

function isSame(entry: HistoryEntry, event: HistoryEntry): boolean {
  if (entry.sameAs?.includes(event.what) !== true || entry.time === undefined || event.time === undefined) return false;
  const isOther = entry.node !== undefined && event.node !== undefined && entry.node !== event.node;
  const later = Date.parse(event.time) - Date.parse(entry.time);
  return !isOther && later > -SECOND_MS && later <= SAME_MS;
}

function byTime(a: HistoryEntry, b: HistoryEntry): number {
  return oldestFirst(seen(a), seen(b));
}

function seen({ time = '' }: HistoryEntry): { lastSeen: string } {
  return { lastSeen: time };
}

// One thing that happened to a pool or a node, and where that is known from.

type Source =
  | 'Event'
  | 'managedFields'
  | 'ControllerRevision'
  /** A condition of the status. */
  | 'condition'
  /** Fields and annotations of the object that have times of their own, or say what differs now. */
  | 'object';

export interface HistoryEntry {
  /** RFC 3339; undefined: it is so now, and since when is not known. */
  time: string | undefined;
  /** CamelCase; of an Event its reason. */
  what: string;
  /** A field manager, the reporter of an Event, or the owner of a maintenance. */
  who: string | undefined;
  detail: string;
  sources: readonly Source[];
  pool?: string | undefined;
  node?: string | undefined;
  /** Of a repeated Event: how often, and when first; `time` is that of the last one. */
  count?: number;
  firstTime?: string;
  isWarning?: boolean;
  /** Reasons of Events that report the same: see merged(). */
  sameAs?: readonly string[];
}

/** Events about writes of nodes: see reconciler/events.ts. */
export const NODE_WRITES = ['NodeJoined', 'NodeLeft', 'NodesUpdated'];

type EventFacts = Omit<PoolEventRecord, 'pool' | 'poolUid'>;

/** Of an Event; what it is about in `about`. */
export function eventEntry(event: EventFacts, about: Pick<HistoryEntry, 'pool' | 'node'>): HistoryEntry {
  const { lastSeen, firstSeen, count, reason, reporter, note, type } = event;
  return {
    time: lastSeen === '' ? undefined : lastSeen,
    what: reason,
    who: reporter === '' ? undefined : reporter,
    detail: note.trim(),
    sources: ['Event'],
    ...about,
    ...(count > 1 ? { count, firstTime: firstSeen } : {}),
    ...(type === 'Warning' ? { isWarning: true } : {}),
  };
}
