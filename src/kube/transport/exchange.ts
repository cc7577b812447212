/** One HTTP request and its whole answer over node:http(s). Knows nothing of Kubernetes, retries or errors' wording. */
import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Clock } from '../../controller/clock.ts';
import { countRead } from '../../controller/collect.ts';
import { LONGEST_ANSWER, LONGEST_REFUSAL, MOST_PIECES } from '../wire.ts';
import { destroyOnAbort } from './abort.ts';

export interface Exchange {
  url: URL;
  method: string;
  headers: OutgoingHttpHeaders;
  body: string | undefined;
  agent: http.Agent;
  /** From the first byte sent to the last received; undefined waits for ever. */
  deadlineMs: number | undefined;
  clock: Clock;
  /** Ends it, with an error. */
  signal?: AbortSignal | undefined;
  /** Of those under way, what gives each up as stale if it uses a kept connection and has got no answer. */
  unanswered?: Set<() => void> | undefined;
  /** Gets the body of a 2xx answer as it comes, which then is not kept. Must not throw. */
  onBody: ((chunk: Buffer) => void) | undefined;
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  /** Cut off at LONGEST_REFUSAL where the status is no 2xx. */
  body: Buffer;
  /** Of the body as it came, compressed or not, kept or not. */
  bytes: number;
}

/** The deadline passed before the whole answer was there. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  /** Whether not even the head of an answer came. */
  readonly isSilent: boolean;

  constructor(isSilent = false) {
    super();
    this.isSilent = isSilent;
  }
}

/** A kept connection was closed, or found dead, as it was used again: the server may or may not have seen the request. */
export class StaleSocketError extends Error {
  override readonly name = 'StaleSocketError';
}

/** The body of a 2xx answer, unpacked, goes on beyond LONGEST_ANSWER or MOST_PIECES. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

const STALE = new Set(['ECONNRESET', 'EPIPE']);

/** Rejects with DeadlineError, StaleSocketError, TooLongError, or what node:http gives. */
export function exchange({
  url,
  method,
  headers,
  body,
  agent,
  deadlineMs,
  clock,
  signal,
  unanswered,
  onBody,
}: Exchange): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === 'http:' ? http : https;
    const request = open(url, { method, headers, agent });
    if (signal !== undefined) destroyOnAbort(request, signal);
    let answered = false;
    const giveUp = (error: Error) => {
      settle(() => reject(error));
      request.destroy();
    };
    const giveUpStale = () => {
      if (request.reusedSocket) giveUp(new StaleSocketError('the connection fell silent'));
    };
    unanswered?.add(giveUpStale);
    const expire = () => giveUp(new DeadlineError(!answered));
    const cancel = deadlineMs === undefined ? undefined : clock.after(deadlineMs, expire);
    const settle = (end: () => void) => {
      cancel?.();
      unanswered?.delete(giveUpStale);
      end();
    };
    const fail = (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && !answered && STALE.has(error.code ?? '');
      settle(() => reject(stale ? new StaleSocketError(error.message, { cause: error }) : error));
    };
    request.on('error', fail);
    request.on('response', response => {
      answered = true;
      unanswered?.delete(giveUpStale);
      const { statusCode: status = 0, headers } = response;
      const isGood = status >= 200 && status < 300;
      const chunks: Buffer[] = [];
      let [kept, bytes] = [0, 0];
      const end = () => settle(() => resolve({ status, headers, body: Buffer.concat(chunks), bytes }));
      const keep = (chunk: Buffer) => {
        kept += chunk.length;
        if (kept <= (isGood ? LONGEST_ANSWER : LONGEST_REFUSAL) && chunks.length < MOST_PIECES) {
          chunks.push(chunk);
          return;
        }
        // Of a refusal the status says enough.
        if (isGood) settle(() => reject(new TooLongError()));
        else end();
        request.destroy();
        content.destroy();
      };
      const take = onBody !== undefined && isGood ? onBody : keep;
      const content = unpacked(response);
      content.on('data', (chunk: Buffer) => {
        take(chunk);
        countRead(chunk.length);
      });
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('error', fail);
      if (content !== response) content.on('error', fail);
      content.on('end', end);
    });
    // With a text, Node would write the headers in UTF-8 too, whose characters are bytes already (credentials.ts).
    request.end(body === undefined ? undefined : Buffer.from(body));
  });
}

/** The content as it was before it was packed for the way. */
function unpacked(response: http.IncomingMessage): Readable {
  return response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip({ chunkSize: 65536 })) : response;
}
