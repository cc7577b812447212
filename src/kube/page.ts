/** One page of a list, in the encoding that the resource is asked for. */
import type { Answer } from './answer.ts';
import { ListReader } from './protobuf/list-reader.ts';
import type { ListMeta } from './protobuf/objects.ts';
import { UnknownFieldError } from './protobuf/schema.ts';
import { acceptOf, inJson, pathOf, type Resource } from './resource.ts';
import type { Query, Transport } from './transport.ts';

export interface WirePage {
  metadata?: ListMeta;
  /** Go writes an empty list as null in places. */
  items?: unknown;
}

export interface PageAnswer {
  answer: Answer;
  /** A list in protobuf, which has been read; any other is the answer's text. */
  page?: WirePage;
  /** It has a field that we do not know: it was read as JSON, and what comes after it had better be asked for so. */
  isUnknown?: boolean;
}

/** Any HTTP answer resolves. Throws when there is none, or when it is malformed protobuf. */
export async function requestPage(
  transport: Transport,
  resource: Resource,
  query: Query,
  signal?: AbortSignal,
): Promise<PageAnswer> {
  const path = pathOf(resource);
  const { decode } = resource;
  if (decode === undefined) return { answer: await transport.request({ path, query, signal }) };
  const items: object[] = [];
  const reader = new ListReader(raw => items.push(decode(raw)));
  let problem: unknown;
  const onBody = (chunk: Buffer) => {
    try {
      if (problem === undefined) reader.push(chunk);
    } catch (error) {
      problem = error;
    }
  };
  const answer = await transport.request({ path, query, accept: acceptOf(resource), signal, onBody });
  if (problem instanceof UnknownFieldError) {
    return { ...(await requestPage(transport, inJson(resource), query, signal)), isUnknown: true };
  }
  if (problem !== undefined) throw problem;
  if (answer.status !== 200) return { answer };
  const end = reader.end();
  if (end.kind === 'list') return { answer, page: { metadata: end.meta, items } };
  const { status, headers } = answer;
  return { answer: { status, headers, text: end.body.toString('utf8') } };
}
