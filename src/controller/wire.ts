/** Parses untrusted input from a server: watch lines and list items. */
import { messageOf } from './log.ts';
import type { Failure } from './source.ts';
import type { Item } from './store.ts';

/** Marks the bookmark that ends the initial events. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

export type WatchLine =
  | { type: 'changed' | 'deleted'; raw: object }
  | { type: 'bookmark'; resourceVersion: string; endsInitialEvents: boolean }
  | { type: 'expired' }
  | { type: 'error'; failure: Failure }
  /** JSON that is not a watch event. */
  | { type: 'unknown' };

export type ReadItem<T> = { kind: 'item'; item: Item<T> } | { kind: 'unusable'; why: string };

export function readLine(line: unknown): WatchLine {
  const { type, object } = fields(line);
  if (typeof object !== 'object' || object === null) return { type: 'unknown' };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'changed', raw: object };
    case 'DELETED':
      return { type: 'deleted', raw: object };
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = fields(fields(object).metadata);
      if (!isText(resourceVersion)) return { type: 'unknown' };
      const endsInitialEvents = fields(annotations)[INITIAL_EVENTS_END] === 'true';
      return { type: 'bookmark', resourceVersion, endsInitialEvents };
    }
    case 'ERROR':
      return readError(object);
    default:
      return { type: 'unknown' };
  }
}

/** An invalid object does not prevent reading the others. `transform` keeps the used fields. */
export function readItem<T>(raw: unknown, transform: (raw: object) => T): ReadItem<T> {
  if (typeof raw !== 'object' || raw === null) return { kind: 'unusable', why: 'not an object' };
  const { name, namespace, uid, resourceVersion } = fields(fields(raw).metadata);
  if (!isText(name)) return { kind: 'unusable', why: 'no name' };
  const key = isText(namespace) ? `${namespace}/${name}` : name;
  if (!isText(uid) || !isText(resourceVersion))
    return { kind: 'unusable', why: `${key} has no UID or resourceVersion` };
  try {
    return { kind: 'item', item: { key, uid, resourceVersion, object: transform(raw) } };
  } catch (error) {
    return { kind: 'unusable', why: `${key}: ${messageOf(error)}` };
  }
}

/** A meta/v1 Status in the stream. */
function readError(object: object): WatchLine {
  const { code, reason, message, details } = fields(object);
  if (code === 410 || reason === 'Expired' || reason === 'Gone') return { type: 'expired' };
  const seconds = fields(details).retryAfterSeconds;
  const status = typeof code === 'number' ? code : 500;
  const retryAfterMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined;
  const text = isText(message) ? message : 'no reason given';
  return { type: 'error', failure: { kind: 'refused', status, message: text, retryAfterMs } };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
