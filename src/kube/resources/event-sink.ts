/** The EventSink of a recorder (controller/recorder.ts): events.k8s.io/v1 Events. */
import type { EventSink, RecordedEvent, SinkResult } from '../../controller/recorder.ts';
import { type Api, MERGE_PATCH } from '../api/api.ts';
import { EVENTS } from '../api/resource.ts';
import { missingObject, parseStatus, reasonOf } from '../api/status.ts';
import type { Answer } from '../transport/answer.ts';
import { retryAfterMs } from '../transport/retry-after.ts';
import { eventBody, eventName, eventNamespace, type Reporter, type WireEvent } from './event-body.ts';
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
