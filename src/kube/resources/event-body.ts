/** events.k8s.io/v1 Events of any reporter. */
import type { EventsV1Event } from '@kubernetes/client-node';
import type { RecordedEvent } from '../../controller/recorder.ts';
import { cutBytes } from '../../nodepool/cut-bytes.ts';
import type { Wire } from '../wire.ts';
import { microTime } from './leases.ts';

/** The server's limits, in bytes (events.k8s.io validation). */
const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;
const INSTANCE_LIMIT = 128;
const NAME_LIMIT = 253;

export type WireEvent = Wire<EventsV1Event>;

/** One event; `id` makes the name of its object unique. */
export interface EventParts extends Omit<RecordedEvent, 'last' | 'count'> {
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
export function eventName({ regarding, id }: Pick<EventParts, 'regarding' | 'id'>): string {
  const prefix = regarding.name.slice(0, NAME_LIMIT - id.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${prefix}.${id}`;
}

/** Events of a cluster-scoped object are in `default`, where `kubectl describe` looks. */
export function eventNamespace({ regarding }: Pick<EventParts, 'regarding'>): string {
  return regarding.namespace ?? 'default';
}
