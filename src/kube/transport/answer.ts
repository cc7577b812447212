/** A response of an API server, in JSON or protobuf. */
import type { IncomingHttpHeaders } from 'node:http';
import { decodeStatus, isProtobuf } from '../protobuf/objects.ts';
import type { Reply } from './exchange.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body; of protobuf a Status as JSON, or empty. */
  text: string;
  /** The body of a 2xx response in protobuf. */
  protobuf?: Buffer;
}

export function toAnswer({ status, headers, body }: Omit<Reply, 'bytes'>): Answer {
  if (!isProtobuf(headers['content-type'])) return { status, headers, text: body.toString('utf8') };
  if (status >= 200 && status < 300) return { status, headers, text: '', protobuf: body };
  return { status, headers, text: refusalText(body) };
}

/** Empty where the Status cannot be decoded: the HTTP status and Retry-After are enough. */
function refusalText(body: Buffer): string {
  try {
    return JSON.stringify(decodeStatus(body));
  } catch {
    return '';
  }
}
