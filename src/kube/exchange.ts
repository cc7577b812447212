/** One HTTP request and its whole answer over node:http(s). Knows nothing of Kubernetes, retries or errors' wording. */
import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Clock } from '../controller/clock.ts';
import { destroyOnAbort } from './abort.ts';
import { countRead } from './collect.ts';

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
  /** Gets the body of a 2xx answer as it comes, which then is not kept. Must not throw. */
  onBody: ((chunk: Buffer) => void) | undefined;
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Of the body as it came, compressed or not, kept or not. */
  bytes: number;
}

/** The deadline passed before the whole answer was there. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** The server closed a kept connection just as it was used again: it may or may not have seen the request. */
export class StaleSocketError extends Error {
  override readonly name = 'StaleSocketError';
}

const STALE = new Set(['ECONNRESET', 'EPIPE']);

/** Rejects with DeadlineError, StaleSocketError, or what node:http gives. */
export function exchange({
  url,
  method,
  headers,
  body,
  agent,
  deadlineMs,
  clock,
  signal,
  onBody,
}: Exchange): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === 'http:' ? http : https;
    const request = open(url, { method, headers, agent });
    if (signal !== undefined) destroyOnAbort(request, signal);
    const expire = () => {
      reject(new DeadlineError());
      request.destroy();
    };
    const cancel = deadlineMs === undefined ? undefined : clock.after(deadlineMs, expire);
    let answered = false;
    const settle = (end: () => void) => {
      cancel?.();
      end();
    };
    const fail = (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && !answered && STALE.has(error.code ?? '');
      settle(() => reject(stale ? new StaleSocketError(error.message, { cause: error }) : error));
    };
    request.on('error', fail);
    request.on('response', response => {
      answered = true;
      const { statusCode: status = 0, headers } = response;
      const chunks: Buffer[] = [];
      const take =
        onBody !== undefined && status >= 200 && status < 300 ? onBody : (chunk: Buffer) => chunks.push(chunk);
      let bytes = 0;
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
      content.on('end', () => settle(() => resolve({ status, headers, body: Buffer.concat(chunks), bytes })));
    });
    // With a text, Node would write the headers in UTF-8 too, whose characters are bytes already (credentials.ts).
    request.end(body === undefined ? undefined : Buffer.from(body));
  });
}

/** The content as it was before it was packed for the way. */
function unpacked(response: http.IncomingMessage): Readable {
  return response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip({ chunkSize: 65536 })) : response;
}
