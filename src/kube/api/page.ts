/** One page of a list, in JSON or protobuf. */

import { ListReader } from '../protobuf/list-reader.ts';
import { type ListMeta, UnknownFieldError } from '../protobuf/objects.ts';
import type { Query } from '../transport/request.ts';
import type { ApiResponse } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import { acceptOf, inJson, pathOf, type Resource } from './resource.ts';

/** Maximum number of items in a page that may be kept whole, as in kubectl: 500 nodes are about 5 MB. */
export const PAGE_SIZE = '500';

export interface WirePage {
  metadata?: ListMeta;
  /** Go may encode an empty list as null. */
  items?: unknown;
}

export interface PageAnswer {
  answer: ApiResponse;
  /** The decoded list, if the response was protobuf, with the items that `keep` returned. */
  page?: WirePage;
  /** An item had an unknown field: the page was read again as JSON. Later pages should use JSON at once. */
  isUnknown?: boolean;
}

export interface PageOptions {
  signal?: AbortSignal | undefined;
  /** Called with the ListMeta of a protobuf list, before its items. */
  onMeta?: ((meta: ListMeta) => void) | undefined;
  /** Maps each item when decoded: 500 whole items would outlive the young generation. Undefined drops the item. */
  keep?: (item: object) => unknown;
}

/** The response is malformed or truncated protobuf. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** Resolves with any HTTP response. Throws NodepoolError if there is none, UnreadableError, and what `keep` throws. */
export async function requestPage(
  transport: Transport,
  resource: Resource,
  query: Query,
  { signal, onMeta, keep = item => item }: PageOptions = {},
): Promise<PageAnswer> {
  const path = pathOf(resource);
  const { decode } = resource;
  if (decode === undefined) return { answer: await transport.request({ path, query, signal }) };
  const items: unknown[] = [];
  let bug: { error: unknown } | undefined;
  const onItem = (raw: Uint8Array) => {
    const item = decode(raw);
    try {
      const kept = keep(item);
      if (kept !== undefined) items.push(kept);
    } catch (error) {
      bug ??= { error };
    }
  };
  const reader = new ListReader({ onItem, onMeta });
  let problem: unknown;
  const onBody = (chunk: Buffer) => {
    try {
      if (problem === undefined) reader.push(chunk);
    } catch (error) {
      problem = error;
    }
  };
  const answer = await transport.request({ path, query, accept: acceptOf(resource), signal, onBody });
  let end: ReturnType<ListReader['end']> | undefined;
  try {
    // Decodes the last items.
    if (problem === undefined && answer.status === 200) end = reader.end();
  } catch (error) {
    problem = error;
  }
  if (bug !== undefined) throw bug.error;
  if (problem instanceof UnknownFieldError) {
    // The body is kept whole, so the page is as small as in a JSON list.
    const small = { ...query, limit: PAGE_SIZE };
    return { ...(await requestPage(transport, inJson(resource), small, { signal })), isUnknown: true };
  }
  if (problem !== undefined) throw unreadable(problem);
  if (end === undefined) return { answer };
  if (end.kind === 'list') return { answer, page: { metadata: end.meta, items } };
  const { status, headers } = answer;
  return { answer: { status, headers, text: end.body.toString('utf8') } };
}

/** Wraps an error of a decoder in UnreadableError, unless it is an UnknownFieldError. */
export function unreadable(error: unknown): Error {
  if (error instanceof UnknownFieldError) return error;
  return new UnreadableError(error instanceof Error ? error.message : String(error), { cause: error });
}

interface PageRequest {
  answered: Promise<PageAnswer>;
  /** The continue token as soon as it is known; undefined if it is not known before the whole page. */
  next: Promise<string | undefined>;
}

/** Starts requestPage(). */
export function askPage(
  transport: Transport,
  resource: Resource,
  query: Query,
  keep: (item: object) => unknown,
): PageRequest {
  const next = Promise.withResolvers<string | undefined>();
  const answered = requestPage(transport, resource, query, { onMeta: meta => next.resolve(meta.continue), keep });
  const nothing = () => next.resolve(undefined);
  // A caller may never await `answered` of a page requested ahead: avoid an unhandled rejection.
  answered.then(nothing, nothing);
  return { answered, next: next.promise };
}
