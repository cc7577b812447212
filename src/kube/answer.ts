/** An HTTP answer of an API server, whichever of its encodings it is in. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Reply } from './exchange.ts';
import { decodeStatus, isProtobuf } from './protobuf/objects.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Empty where the body is protobuf, unless that is a Status: then it is what JSON has of it. */
  text: string;
  /** The body of a 2xx answer, where it is protobuf. */
  protobuf?: Buffer;
}

/** Throws when the body is said to be protobuf and is not. */
export function toAnswer({ status, headers, body }: Reply): Answer {
  if (!isProtobuf(headers['content-type'])) return { status, headers, text: body.toString('utf8') };
  if (status >= 200 && status < 300) return { status, headers, text: '', protobuf: body };
  return { status, headers, text: JSON.stringify(decodeStatus(body)) };
}
