/** Writes the events of a Recorder as events.k8s.io/v1 Events. */
import { type EventsV1Api, type EventsV1Event, V1MicroTime } from '@kubernetes/client-node';
import { messageOf } from '../src/controller/log.ts';
import type { EventSink, RecordedEvent, SinkResult } from '../src/controller/recorder.ts';
import { MERGE_PATCH, Refused } from './client-node.ts';

/** The server's limits. */
const NOTE_BYTES = 1024;
const NAME_CHARACTERS = 253;

/**
 * @param api of Connection.client
 * @param controller the reporting controller, such as `example.com/my-controller`
 * @param instance its process
 */
export function eventSink(api: EventsV1Api, controller: string, instance: string): EventSink {
  return {
    async create(event) {
      const { regarding, type, reason, action, note, first, count } = event;
      const { read } = new TextEncoder().encodeInto(note, new Uint8Array(NOTE_BYTES));
      const body: EventsV1Event = {
        metadata: { name: nameOf(event) },
        eventTime: new V1MicroTime(first),
        reportingController: controller,
        reportingInstance: instance,
        type,
        reason,
        action,
        note: note.slice(0, read),
        regarding,
        ...(count > 1 ? { series: seriesOf(event) } : {}),
      };
      const created = api.createNamespacedEvent({ namespace: namespaceOf(event), body });
      // The Event exists already: the response to an earlier attempt was lost.
      return resultOf(created, { 409: { kind: 'written' } });
    },

    async patch(event) {
      const request = { name: nameOf(event), namespace: namespaceOf(event), body: { series: seriesOf(event) } };
      return resultOf(api.patchNamespacedEvent(request, MERGE_PATCH), { 404: { kind: 'missing' } });
    },
  };
}

/** Events of a cluster-scoped object live in `default`, where `kubectl describe` looks. */
function namespaceOf({ regarding }: RecordedEvent): string {
  return regarding.namespace ?? 'default';
}

function nameOf({ regarding, id }: RecordedEvent): string {
  const prefix = regarding.name.slice(0, NAME_CHARACTERS - id.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${prefix}.${id}`;
}

function seriesOf({ count, last }: RecordedEvent) {
  return { count, lastObservedTime: new V1MicroTime(last) };
}

/** @param expected the result for a status */
async function resultOf(request: Promise<unknown>, expected: Record<number, SinkResult>): Promise<SinkResult> {
  try {
    await request;
    return { kind: 'written' };
  } catch (error) {
    if (!(error instanceof Refused)) return { kind: 'failed', message: messageOf(error), retryAfterMs: undefined };
    const { status, message, retryAfterMs } = error.failure;
    const isPassing = status === 401 || status === 429 || status >= 500;
    return expected[status] ?? { kind: isPassing ? 'failed' : 'refused', message, retryAfterMs };
  }
}
