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
  /** Called with each chunk of a 2xx response's body, which the answer then lacks. Must not throw. */
  onBody?: (chunk: Buffer) => void;
  /** Aborts it in any state: queued, waiting for a retry, sent. */
  signal?: AbortSignal | undefined;
  /** Limit in milliseconds, retries included, if lower than that of all requests. */
  deadlineMs?: number;
  /** Whether sending it twice is safe. Default: GETs are. */
  replayable?: boolean;
  /** The caller handles the 429. */
  tooManyIsAnswer?: boolean;
  /** Bypasses the limiter and mayWrite, for leases and reviews: a renewal that queues comes too late. */
  urgent?: boolean;
  /** Request and answer have a credential: the log hides both bodies. */
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

/** JSON with the escapes of Go: the server compares the bytes of a string in the `test` of a JSON patch with its own. */
export function bodyOf(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether it may change something: dry runs and access reviews do not. */
export function isWrite({ method = 'GET', path, query, body }: Request): boolean {
  const isDry = query?.dryRun !== undefined || (isObject(body) && 'dryRun' in body);
  return method !== 'GET' && !isDry && !path.endsWith('reviews');
}
