/** One thing that happened to a pool or a node, and where that is known from. */
import type { PoolEventRecord } from '../../kube/connection.ts';

export type Source =
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
