/** Lists and watches of one resource for a reflector (controller/source.ts): what happened comes back as values. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Failure, Source, WatchOptions } from '../controller/source.ts';
import type { Query } from './api.ts';
import { parseStatus } from './errors.ts';
import { pathOf, type Resource } from './resource.ts';
import { retryAfterMs } from './retry-after.ts';
import { readLines, readText } from './stream.ts';
import type { Transport } from './transport.ts';

interface WirePage {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: unknown[] | null;
}

/** @param query narrows every list and watch, as `{ fieldSelector }` does */
export function listWatch(transport: Transport, resource: Resource, query: Query = {}): Source {
  const path = pathOf(resource);
  return {
    async list(options) {
      try {
        const part = { limit: String(options.limit), continue: options.continue };
        const { status, text, headers } = await transport.request({ path, query: { ...query, ...part } });
        if (status !== 200) return refused(status, text, headers);
        const page: WirePage | null = JSON.parse(text);
        const { resourceVersion, continue: token } = page?.metadata ?? {};
        if (!resourceVersion) return broken(new Error('the list has no resourceVersion'));
        // Go writes an empty list as null in places.
        const items = page?.items ?? [];
        if (!Array.isArray(items)) return broken(new Error('the items of the list are not a list'));
        return { kind: 'page', items, resourceVersion, continue: token || undefined };
      } catch (error) {
        return broken(error);
      }
    },

    async watch(options, onLine) {
      try {
        const response = await transport.stream({ path, query: { ...query, ...watchQuery(options) } }, options.signal);
        const { statusCode = 0, headers } = response;
        if (statusCode !== 200) return refused(statusCode, await readText(response), headers);
        await readLines(response, line => onLine(JSON.parse(line)));
        return { kind: 'ended' };
      } catch (error) {
        return broken(error);
      }
    },
  };
}

function watchQuery({ resourceVersion, initialEvents, timeoutSeconds }: WatchOptions): Query {
  return {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    resourceVersion,
    ...(initialEvents ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' } : {}),
  };
}

function refused(status: number, text: string, headers: IncomingHttpHeaders): Failure {
  const message = parseStatus(text)?.message || text.trim().split('\n', 1)[0] || 'no reason given';
  return { kind: 'refused', status, message, retryAfterMs: retryAfterMs(headers) };
}

function broken(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  // Node's word for an answer whose connection ended before it did.
  return { kind: 'broken', message: message === 'aborted' ? 'the connection broke off' : message };
}
