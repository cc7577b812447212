/** An HTTP answer of an API server, whichever of its encodings it is in. */
import type { IncomingHttpHeaders } from 'node:http';
import { decodeStatus, isProtobuf } from '../protobuf/objects.ts';
import type { Reply } from './exchange.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Empty where the body is protobuf, unless that is a Status: then it is what JSON has of it. */
  text: string;
  /** The body of a 2xx answer, where it is protobuf. */
  protobuf?: Buffer;
}

export function toAnswer({ status, headers, body }: Omit<Reply, 'bytes'>): Answer {
  if (!isProtobuf(headers['content-type'])) return { status, headers, text: body.toString('utf8') };
  if (status >= 200 && status < 300) return { status, headers, text: '', protobuf: body };
  return { status, headers, text: refusalText(body) };
}

/** A refusal that broke off is one all the same: its status and Retry-After say enough. */
function refusalText(body: Buffer): string {
  try {
    return JSON.stringify(decodeStatus(body));
  } catch {
    return '';
  }
}
