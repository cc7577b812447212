/** Writes what a recorder (controller/recorder.ts) tells as events.k8s.io/v1 Events. */
import type { EventsV1Event } from '@kubernetes/client-node';
import type { EventSink, RecordedEvent, SinkResult } from '../controller/recorder.ts';
import { cutBytes } from '../nodepool/cut-bytes.ts';
import { MERGE_PATCH } from './api.ts';
import { parseStatus } from './errors.ts';
import type { Answer } from './exchange.ts';
import { microTime } from './leases.ts';
import { EVENTS, pathOf } from './resource.ts';
import { retryAfterMs } from './retry-after.ts';
import type { Transport } from './transport.ts';
import type { Wire } from './wire.ts';

/** The server's limits, in bytes (events.k8s.io validation). */
const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;
const INSTANCE_LIMIT = 128;
/** Of an object's name. */
const NAME_LIMIT = 253;

/**
 * @param controller who reports, as `example.com/nodepool-controller`
 * @param instance which of its processes
 */
export function eventSink(transport: Transport, controller: string, instance: string): EventSink {
  return {
    async create(event) {
      const body = toEvent(event, controller, instance);
      // A name of its own makes a second sending harmless.
      const request = { method: 'POST' as const, path: pathOf(resourceOf(event)), body, replayable: true };
      const result = toResult(await transport.request(request));
      // What is missing for a create is the namespace, not the Event: to try again at once does not help.
      return result.kind === 'missing' ? { kind: 'refused', message: `no namespace ${namespaceOf(event)}` } : result;
    },

    async patch(event) {
      const path = pathOf(resourceOf(event), nameOf(event));
      const body = { series: seriesOf(event) };
      return toResult(
        await transport.request({ method: 'PATCH', path, body, contentType: MERGE_PATCH, replayable: true }),
      );
    },
  };
}

function toEvent(event: RecordedEvent, controller: string, instance: string): Wire<EventsV1Event> {
  const { regarding, type, reason, action, note, first, count } = event;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: nameOf(event), namespace: namespaceOf(event) },
    eventTime: microTime(first),
    reportingController: controller,
    reportingInstance: cutBytes(instance, INSTANCE_LIMIT),
    action: cutBytes(action, REASON_LIMIT),
    reason: cutBytes(reason, REASON_LIMIT),
    type,
    note: cutBytes(note, NOTE_LIMIT),
    regarding,
    ...(count > 1 ? { series: seriesOf(event) } : {}),
  };
}

function seriesOf({ count, last }: RecordedEvent) {
  return { count, lastObservedTime: microTime(last) };
}

function nameOf({ regarding, id }: RecordedEvent): string {
  const prefix = regarding.name.slice(0, NAME_LIMIT - id.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${prefix}.${id}`;
}

/** Events of a cluster-scoped object live in `default`, where `kubectl describe` looks. */
function namespaceOf({ regarding }: RecordedEvent): string {
  return regarding.namespace ?? 'default';
}

function resourceOf(event: RecordedEvent) {
  return { ...EVENTS, namespace: namespaceOf(event) };
}

function toResult({ status, text, headers }: Answer): SinkResult {
  const { reason = '', message = text.trim() } = parseStatus(text) ?? {};
  // The name is ours alone: an Event that exists was made by a create whose answer was lost.
  if (status < 300 || reason === 'AlreadyExists') return { kind: 'written' };
  if (status === 404) return { kind: 'missing' };
  if (status === 429 || status >= 500) return { kind: 'failed', message, retryAfterMs: retryAfterMs(headers) };
  return { kind: 'refused', message };
}
