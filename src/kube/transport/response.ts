/** A response of an API server, in JSON or protobuf. */
import type { IncomingHttpHeaders } from 'node:http';
import { decodeStatus, isProtobuf } from '../protobuf/objects.ts';
import type { RawResponse } from './exchange.ts';

export interface ApiResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body; for protobuf, a Status as JSON, or empty. */
  text: string;
  /** The body of a 2xx protobuf response. */
  protobuf?: Buffer;
}

export function toResponse({ status, headers, body }: Omit<RawResponse, 'bytes'>): ApiResponse {
  if (!isProtobuf(headers['content-type'])) return { status, headers, text: body.toString('utf8') };
  if (status >= 200 && status < 300) return { status, headers, text: '', protobuf: body };
  return { status, headers, text: refusalText(body) };
}

/** Empty if the Status cannot be decoded: the HTTP status and Retry-After are enough. */
function refusalText(body: Buffer): string {
  try {
    return JSON.stringify(decodeStatus(body));
  } catch {
    return '';
  }
}

// Retry-After of a 429 or 503.

/** Maximum jitter, as a share of the delay: the server sends all clients the same Retry-After. */
const MAX_JITTER = 0.2;

/** In milliseconds; undefined without a Retry-After in seconds. */
export function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/**
 * Milliseconds until the retry, at least Retry-After; undefined if the request is not retried.
 * @param random from 0 to 1
 */
export function retryDelay(
  { status, headers }: Pick<ApiResponse, 'status' | 'headers'>,
  random: number,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const ms = retryAfterMs(headers);
  return ms === undefined ? undefined : ms * (1 + MAX_JITTER * random);
}
