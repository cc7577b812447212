/** When a server that turned a request away wants to see it again. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';

/** A server tells all it turns away the same delay: this much of it is added at most, so that they come back apart. */
const MOST_JITTER = 0.2;

/** Milliseconds of a Retry-After in seconds; undefined without one. */
export function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/**
 * Milliseconds to wait before sending it again, never less than the server asks for; undefined when it is not to be sent
 * again.
 * @param random from 0 to 1
 */
export function retryDelay(
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
  random: number,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const ms = retryAfterMs(headers);
  return ms === undefined ? undefined : ms * (1 + MOST_JITTER * random);
}
