/** The Retry-After of a 429 or 503. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';

/** Share of the delay that is added at most: the server sends all clients the same one. */
const MAX_JITTER = 0.2;

/** In milliseconds; undefined without a Retry-After in seconds. */
export function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/**
 * Milliseconds until the retry, at least those of Retry-After; undefined where there is no retry.
 * @param random from 0 to 1
 */
export function retryDelay(
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
  random: number,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const ms = retryAfterMs(headers);
  return ms === undefined ? undefined : ms * (1 + MAX_JITTER * random);
}
