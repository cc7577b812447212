/** One page of a list, in the encoding that the resource is asked for. */

import { ListReader } from '../protobuf/list-reader.ts';
import type { ListMeta } from '../protobuf/objects.ts';
import { UnknownFieldError } from '../protobuf/schema.ts';
import type { Answer } from '../transport/answer.ts';
import type { Query } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';
import { acceptOf, inJson, pathOf, type Resource } from './resource.ts';

export interface WirePage {
  metadata?: ListMeta;
  /** Go writes an empty list as null in places. */
  items?: unknown;
}

export interface PageAnswer {
  answer: Answer;
  /** A list in protobuf, which has been read, of its items what was to be kept; any other is the answer's text. */
  page?: WirePage;
  /** It has a field that we do not know: it was read as JSON, and what comes after it had better be asked for so. */
  isUnknown?: boolean;
}

export interface PageOptions {
  signal?: AbortSignal | undefined;
  /** Gets what the list says of itself as soon as it is there: in protobuf, before the items. */
  onMeta?: ((meta: ListMeta) => void) | undefined;
  /**
   * What is kept of an item in protobuf, at once: held for a page's time, 500 of them would outlive the youngest heap.
   * Undefined: nothing.
   */
  keep?: (item: object) => unknown;
}

/** The answer is protobuf that is malformed or cut off. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** Any HTTP answer resolves. Throws when there is none, UnreadableError, and what `keep` throws. */
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
  if (bug !== undefined) throw bug.error;
  if (problem instanceof UnknownFieldError) {
    return { ...(await requestPage(transport, inJson(resource), query, { signal })), isUnknown: true };
  }
  if (problem !== undefined) throw unreadable(problem);
  if (answer.status !== 200) return { answer };
  const end = endOf(reader);
  if (end.kind === 'list') return { answer, page: { metadata: end.meta, items } };
  const { status, headers } = answer;
  return { answer: { status, headers, text: end.body.toString('utf8') } };
}

function endOf(reader: ListReader): ReturnType<ListReader['end']> {
  try {
    return reader.end();
  } catch (error) {
    throw unreadable(error);
  }
}

/** What a decoder threw, made an UnreadableError; a field that is not known stays what it is. */
export function unreadable(error: unknown): Error {
  if (error instanceof UnknownFieldError) return error;
  return new UnreadableError(error instanceof Error ? error.message : String(error), { cause: error });
}

export interface AskedPage {
  answered: Promise<PageAnswer>;
  /** The token of the next page, as soon as it is known; undefined when it is not before the page is there. */
  next: Promise<string | undefined>;
  /** Whether it is not the first: its token may have expired. */
  isLater: boolean;
}

/** As requestPage(), without waiting. */
export function askPage(
  transport: Transport,
  resource: Resource,
  query: Query,
  keep: (item: object) => unknown,
): AskedPage {
  const next = Promise.withResolvers<string | undefined>();
  const answered = requestPage(transport, resource, query, { onMeta: meta => next.resolve(meta.continue), keep });
  const nothing = () => next.resolve(undefined);
  // Who waits for the page hears of its failure; of the one that was asked for ahead nobody may.
  answered.then(nothing, nothing);
  return { answered, next: next.promise, isLater: query.continue !== undefined };
}
