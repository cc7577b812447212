/** One page of a list, in JSON or protobuf. */

import { ListReader } from '../protobuf/list-reader.ts';
import { type ListMeta, UnknownFieldError } from '../protobuf/objects.ts';
import type { Query } from '../transport/request.ts';
import type { ApiResponse } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import { acceptOf, inJson, pathOf, type Resource } from './resource.ts';

/** Items in a page that may be kept whole, as kubectl's: 500 nodes are about 5 MB. */
export const PAGE_SIZE = '500';

export interface WirePage {
  metadata?: ListMeta;
  /** Go may write an empty list as null. */
  items?: unknown;
}

export interface PageAnswer {
  answer: ApiResponse;
  /** The decoded list, if it was in protobuf, with its items as `keep` returned them. */
  page?: WirePage;
  /** An item has an unknown field: the page was read again as JSON, and later pages should be. */
  isUnknown?: boolean;
}

export interface PageOptions {
  signal?: AbortSignal | undefined;
  /** Called with the ListMeta of a list in protobuf before its items. */
  onMeta?: ((meta: ListMeta) => void) | undefined;
  /** Maps each item when it is decoded: 500 whole items would outlive the young generation. Undefined: dropped. */
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
    // Reads the last items.
    if (problem === undefined && answer.status === 200) end = reader.end();
  } catch (error) {
    problem = error;
  }
  if (bug !== undefined) throw bug.error;
  if (problem instanceof UnknownFieldError) {
    // The body is kept whole: as few items as in a list that is JSON from its start.
    const small = { ...query, limit: PAGE_SIZE };
    return { ...(await requestPage(transport, inJson(resource), small, { signal })), isUnknown: true };
  }
  if (problem !== undefined) throw unreadable(problem);
  if (end === undefined) return { answer };
  if (end.kind === 'list') return { answer, page: { metadata: end.meta, items } };
  const { status, headers } = answer;
  return { answer: { status, headers, text: end.body.toString('utf8') } };
}

/** An error of a decoder as UnreadableError, unless it is UnknownFieldError. */
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
  // The caller awaits `answered`, but not that of a page requested ahead: its failure must not be unhandled.
  answered.then(nothing, nothing);
  return { answered, next: next.promise };
}
