/** A request to the transport. */
import { isObject } from '../../nodepool/json.ts';

export type Query = Record<string, string | undefined>;

export interface Request {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Absolute, below the server's own path: `/api/v1/nodes`. */
  path: string;
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Default `application/json`. */
  contentType?: string;
  /** Default `application/json`. */
  accept?: string;
  /** Gets the body of a 2xx answer as it comes; the answer has none then. Called for one sending at most; must not throw. */
  onBody?: (chunk: Buffer) => void;
  /** Ends it, wherever it is, with an error. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for it, with its retries, where that is less than what all requests have. */
  deadlineMs?: number;
  /** Whether sending it twice does no harm; default: GETs are. */
  replayable?: boolean;
  /** Whoever asks waits himself when the server has had too much: 429 is an answer. */
  tooManyIsAnswer?: boolean;
  /** Waits for no place and needs no mayWrite: a lease that is renewed after all the others is lost. */
  urgent?: boolean;
}

/** @param base the server's address, without a slash at its end */
export function urlOf(base: string, { path, query = {} }: Pick<Request, 'path' | 'query'>): URL {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

/** Whether something may have changed. Dry runs and reviews, which ask a question, change nothing. */
export function isWrite({ method = 'GET', path, query, body }: Request): boolean {
  const isDry = query?.dryRun !== undefined || (isObject(body) && 'dryRun' in body);
  return method !== 'GET' && !isDry && !path.endsWith('reviews');
}
