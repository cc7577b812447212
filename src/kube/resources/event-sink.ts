/** The EventSink of a recorder (controller/recorder.ts): events.k8s.io/v1 Events. */

import type { EventsV1Event } from '@kubernetes/client-node';
import type { EventSink, RecordedEvent, SinkResult } from '../../controller/recorder.ts';
import { cutBytes } from '../../nodepool/text.ts';
import { type Api, MERGE_PATCH } from '../api/api.ts';
import { EVENTS } from '../api/resource.ts';
import { missingObject, parseStatus, reasonOf } from '../api/status.ts';
import { type Answer, retryAfterMs } from '../transport/answer.ts';
import type { Wire } from '../wire.ts';
import { microTime } from './leases.ts';

/**
 * @param controller as `example.com/nodepool-controller`
 * @param instance its process
 */
export function eventSink(api: Api, controller: string, instance: string): EventSink {
  return {
    async create(event) {
      const body = toEvent(event, { controller, instance });
      // Replayable: the name is unique.
      const answer = await api.write(resourceOf(event), { method: 'POST', body }, { replayable: true });
      const result = toResult(answer);
      // A create with 404 lacks the namespace: the recorder must not create the Event again.
      return result.kind === 'missing' ? { kind: 'refused', message: `no namespace ${eventNamespace(event)}` } : result;
    },

    async patch(event) {
      const [name, body] = [eventName(event), { series: seriesOf(event) }];
      const patch = { method: 'PATCH', name, body, contentType: MERGE_PATCH } as const;
      return toResult(await api.write(resourceOf(event), patch, { replayable: true }));
    },
  };
}

function toEvent(event: RecordedEvent, reporter: Reporter): WireEvent {
  return { ...eventBody(event, reporter), ...(event.count > 1 ? { series: seriesOf(event) } : {}) };
}

function seriesOf({ count, last }: RecordedEvent) {
  return { count, lastObservedTime: microTime(last) };
}

function resourceOf(event: RecordedEvent) {
  return { ...EVENTS, namespace: eventNamespace(event) };
}

function toResult(answer: Answer): SinkResult {
  const { status, text, headers } = answer;
  if (status < 300) return { kind: 'written' };
  const said = parseStatus(text);
  // The name is unique: the Event exists since an earlier create whose response was lost.
  if (said?.reason === 'AlreadyExists') return { kind: 'written' };
  if (missingObject(answer) !== undefined) return { kind: 'missing' };
  const message = reasonOf(answer, said);
  if (status === 429 || status >= 500) return { kind: 'failed', message, retryAfterMs: retryAfterMs(headers) };
  return { kind: 'refused', message };
}

// events.k8s.io/v1 Events of any reporter.

/** The server's limits, in bytes (events.k8s.io validation). */
const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;
const INSTANCE_LIMIT = 128;
const NAME_LIMIT = 253;

export type WireEvent = Wire<EventsV1Event>;

/** One event; `id` makes the name of its object unique. */
interface EventParts extends Omit<RecordedEvent, 'last' | 'count'> {
  regarding: RecordedEvent['regarding'] & { resourceVersion?: string };
}

export interface Reporter {
  /** As `example.com/nodepool-controller`. */
  controller: string;
  /** Its process. */
  instance: string;
}

/** The Event to create. Strings are truncated to the server's limits. */
export function eventBody(parts: EventParts, { controller, instance }: Reporter): WireEvent {
  const { regarding, type, reason, action, note, first } = parts;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: eventName(parts), namespace: eventNamespace(parts) },
    eventTime: microTime(first),
    reportingController: controller,
    reportingInstance: cutBytes(instance, INSTANCE_LIMIT),
    action: cutBytes(action, REASON_LIMIT),
    reason: cutBytes(reason, REASON_LIMIT),
    type,
    note: cutBytes(note, NOTE_LIMIT),
    regarding,
  };
}

/** The name of the regarding object, truncated, and the id. */
function eventName({ regarding, id }: Pick<EventParts, 'regarding' | 'id'>): string {
  const prefix = regarding.name.slice(0, NAME_LIMIT - id.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${prefix}.${id}`;
}

/** Events of a cluster-scoped object are in `default`, where `kubectl describe` looks. */
function eventNamespace({ regarding }: Pick<EventParts, 'regarding'>): string {
  return regarding.namespace ?? 'default';
}
