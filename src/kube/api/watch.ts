/** Lists and watches of one resource, for a reflector (controller/source.ts). Failures are values. */
import type { Failure, Source, WatchRequestOptions } from '../../controller/source.ts';
import { isObject } from '../../nodepool/json.ts';
import { readFrames } from '../protobuf/list-reader.ts';
import { decodeWatchEvent, isProtobuf, UnknownFieldError } from '../protobuf/objects.ts';
import type { Query } from '../transport/request.ts';
import { type ApiResponse, retryAfterMs, toResponse } from '../transport/response.ts';
import { readBody, readLines } from '../transport/stream.ts';
import type { Transport } from '../transport/transport.ts';
import { requestPage, type WirePage } from './page.ts';
import { acceptOf, inJson, pathOf, type Resource } from './resource.ts';
import { checkRequired, checkShape } from './shape.ts';
import { reasonOf } from './status.ts';

/** @param query for every list and watch, such as `{ fieldSelector }` */
export function listWatch(transport: Transport, preferred: Resource, query: Query = {}): Source {
  let resource = preferred;
  return {
    async list(options) {
      try {
        const { limit, continue: token, signal } = options;
        const part = { ...query, limit: String(limit), continue: token };
        const { answer, page: read, isUnknown = false } = await requestPage(transport, resource, part, { signal });
        if (isUnknown) resource = inJson(resource);
        if (answer.status !== 200) return refused(answer);
        const page: WirePage | null = read ?? JSON.parse(answer.text);
        const { resourceVersion, continue: next } = page?.metadata ?? {};
        if (!resourceVersion) return broken(new Error('the list has no resourceVersion'));
        const items = page?.items ?? [];
        if (!Array.isArray(items)) return broken(new Error('items is not a list'));
        // An unreadable item is logged and skipped.
        const kept =
          read === undefined ? items.map(item => (isReadable(item, resource, undefined) ? item : {})) : items;
        return { kind: 'page', items: kept, resourceVersion, continue: next || undefined };
      } catch (error) {
        return broken(error);
      }
    },

    async watch(options, onLine) {
      try {
        const part = { ...query, ...watchQuery(options) };
        const request = { path: pathOf(resource), query: part, accept: acceptOf(resource) };
        const response = await transport.stream(request, options.signal);
        const { statusCode: status = 0, headers } = response;
        if (status !== 200) return refused(toResponse({ status, headers, body: await readBody(response) }));
        options.onOpen?.();
        const { decode } = resource;
        if (decode !== undefined && isProtobuf(headers['content-type'])) {
          await readFrames(response, frame => onLine(decodeWatchEvent(frame, decode)));
        } else {
          await readLines(response, line => {
            onLine(eventOf(JSON.parse(line), resource));
          });
        }
        return { kind: 'ended' };
      } catch (error) {
        // The reflector resumes the watch, now as JSON.
        if (error instanceof UnknownFieldError) resource = inJson(resource);
        return broken(error);
      }
    },
  };
}

/** The reflector logs and skips an event whose object has fields of wrong types, and continues the watch. */
function eventOf(event: unknown, resource: Resource): object {
  if (!isObject(event)) return event as object;
  return event.type === 'ERROR' || isReadable(event.object, resource, event.type) ? event : {};
}

/** Name, UID and resourceVersion are checked by the reflector. */
function isReadable(item: unknown, { group, kind }: Resource, type: unknown): boolean {
  if (!isObject(item) || !isObject(item.metadata)) return true;
  try {
    checkShape(item, group);
    if (type !== 'BOOKMARK') checkRequired(item, kind);
    return true;
  } catch {
    return false;
  }
}

function watchQuery({ resourceVersion, initialEvents, timeoutSeconds }: WatchRequestOptions): Query {
  return {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    resourceVersion,
    ...(initialEvents ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' } : {}),
  };
}

function refused(answer: ApiResponse): Failure {
  const { status, headers } = answer;
  return { kind: 'refused', status, message: reasonOf(answer), retryAfterMs: retryAfterMs(headers) };
}

function broken(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  // Node's message for a connection that broke during a response.
  return { kind: 'broken', message: message === 'aborted' ? 'the connection broke' : message };
}
