/** A text from the web, within limits of time and size. */
import { LONGEST_TIMER_MS } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';

const DEFAULT_DEADLINE_MS = 30_000;
/** No API server takes more in one request (`MaxRequestBodyBytes` of k8s.io/apiserver). */
const MOST_BYTES = 3 * 1024 * 1024;

/** @param deadlineMs for all of it; 0 waits for ever. Throws an input error that names the URL. */
export async function fetchText(url: string, deadlineMs = DEFAULT_DEADLINE_MS): Promise<string> {
  try {
    const ms = Math.min(deadlineMs, LONGEST_TIMER_MS);
    const response = await fetch(url, ms === 0 ? {} : { signal: AbortSignal.timeout(ms) });
    if (response.ok) return await readText(url, response);
    await response.body?.cancel();
    throw new NodepoolError('input', `${url}: the server answered ${response.status}`, 'check the URL');
  } catch (error) {
    if (error instanceof NodepoolError) throw error;
    const { reason, next } = explain(error, deadlineMs);
    throw new NodepoolError('input', `${url}: ${reason}`, next, { cause: error });
  }
}

/** Stops reading at the limit: what a server says of the length need not be true. */
async function readText(url: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) {
      throw new NodepoolError(
        'input',
        `${url}: more than 3 MiB, which is what an API server takes at once`,
        'check the URL, or split it into several files',
      );
    }
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function explain(error: unknown, deadlineMs: number): { reason: string; next: string } {
  // fetch() hides what failed in the cause.
  const shown = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code, name, message } = shown as NodeJS.ErrnoException;
  if (name !== 'TimeoutError') return { reason: message || String(code), next: 'check the URL and your network' };
  return {
    reason: `no answer within ${deadlineMs / 1000} s`,
    next: 'try again, or wait longer with --request-timeout',
  };
}
