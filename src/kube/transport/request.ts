/** A request to the transport. */
import { isObject } from '../../nodepool/json.ts';

export type Query = Record<string, string | undefined>;

export interface Request {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the server's address: `/api/v1/nodes`. */
  path: string;
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Default `application/json`. */
  contentType?: string;
  /** Default `application/json`. */
  accept?: string;
  /** Called with each chunk of a 2xx response's body, which the response then lacks. Must not throw. */
  onBody?: (chunk: Buffer) => void;
  /** Aborts the request in any state: queued, waiting for a retry, sent. */
  signal?: AbortSignal | undefined;
  /** Limit in milliseconds, including retries, if lower than that of all requests. */
  deadlineMs?: number;
  /** Whether the request may be sent twice. Default: true for GETs. */
  replayable?: boolean;
  /** The caller handles a 429 itself. */
  tooManyIsAnswer?: boolean;
  /** Bypasses the limiter and mayWrite, for leases and reviews: a queued renewal would come too late. */
  urgent?: boolean;
  /** Request and response contain a credential: the log hides both bodies. */
  isSecret?: boolean;
}

/** @param base the server's address, without a trailing slash */
export function urlOf(base: string, { path, query = {} }: Pick<Request, 'path' | 'query'>): URL {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/** JSON with Go's escapes: for `test` of a JSON patch, the server compares the bytes of strings. */
export function bodyOf(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether the request may change something: false for dry runs and access reviews. */
export function isWrite({ method = 'GET', path, query, body }: Request): boolean {
  const isDry = query?.dryRun !== undefined || (isObject(body) && 'dryRun' in body);
  return method !== 'GET' && !isDry && !path.endsWith('reviews');
}
