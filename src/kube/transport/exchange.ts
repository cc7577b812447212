/** One HTTP request and its whole response over node:http(s), without retries. */
import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { type Readable, Transform } from 'node:stream';
import type { Clock } from '../../controller/clock.ts';
import { countKept, countRequest } from '../../controller/collect.ts';
import { MAX_ANSWER_LENGTH, MAX_PIECES, MAX_REFUSAL_LENGTH } from '../wire.ts';
import { destroyOnAbort } from './session.ts';

export interface HttpExchange {
  url: URL;
  method: string;
  headers: OutgoingHttpHeaders;
  body: string | undefined;
  agent: http.Agent;
  /** From the first byte sent to the last byte received. Undefined: no limit. */
  deadlineMs: number | undefined;
  clock: Clock;
  /** Aborts the request. */
  signal?: AbortSignal | undefined;
  /** Callbacks of the requests in flight. Each fails its request as stale if it waits on a reused connection. */
  unanswered?: Set<() => void> | undefined;
  /** Called with each chunk of the body of a 2xx response, which is then not kept. Must not throw. */
  onBody: ((chunk: Buffer) => void) | undefined;
  /** Called after the request was sent. */
  onSent?: (() => void) | undefined;
}

export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Truncated at MAX_REFUSAL_LENGTH unless the status is 2xx. */
  body: Buffer;
  /** Bytes of the body as received, before decompression. */
  bytes: number;
}

/** The deadline passed before the end of the response. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  /** Whether no response head was received. */
  readonly isSilent: boolean;

  constructor(isSilent = false) {
    super();
    this.isSilent = isSilent;
  }
}

/** A reused connection was closed or dead: the server may or may not have received the request. */
export class StaleSocketError extends Error {
  override readonly name = 'StaleSocketError';
}

/** The body of a 2xx response exceeds MAX_ANSWER_LENGTH, uncompressed, or MAX_PIECES. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

const STALE = new Set(['ECONNRESET', 'EPIPE']);

/** Rejects with DeadlineError, StaleSocketError, TooLongError, or an error of node:http. */
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
  onSent,
}: HttpExchange): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === 'http:' ? http : https;
    countRequest();
    const request = open(url, { method, headers, agent });
    if (signal !== undefined) destroyOnAbort(request, signal);
    let answered = false;
    const giveUp = (error: Error) => {
      settle(() => reject(error));
      request.destroy();
    };
    const giveUpStale = () => {
      if (request.reusedSocket) giveUp(new StaleSocketError('the connection stalled'));
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
    if (onSent !== undefined) request.on('finish', onSent);
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
        countKept(chunk.length);
        if (kept <= (isGood ? MAX_ANSWER_LENGTH : MAX_REFUSAL_LENGTH) && chunks.length < MAX_PIECES) {
          chunks.push(chunk);
          return;
        }
        // For an error response, the status is enough.
        if (isGood) settle(() => reject(new TooLongError()));
        else end();
        request.destroy();
        content.destroy();
      };
      const take = onBody !== undefined && isGood ? onBody : keep;
      const isCompressed = headers['content-encoding'] === 'gzip';
      const content = isCompressed ? gunzip(response, take) : response.on('data', take);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('error', fail);
      if (isCompressed) {
        content.on('error', (error: Error) => {
          fail(error);
          request.destroy();
        });
      }
      content.on('end', end);
    });
    // With a string as body, Node would encode the headers as UTF-8 as well; they are latin1 (credentials.ts).
    request.end(body === undefined ? undefined : Buffer.from(body));
  });
}

// Decompresses a gzip body on another thread, while this thread decodes.

/** Bytes sent to the thread at once: the server sends about 1 kB at a time, and each round trip takes time. */
const INPUT_BYTES = 32_768;
/** Bytes returned at once. */
const OUTPUT_BYTES = 65_536;

/**
 * @param onChunk gets the decompressed chunks in order, all before the stream's `end`, none after an error of the body
 */
function gunzip(body: Readable, onChunk: (chunk: Buffer) => void): Readable {
  // Loaded here: it takes a millisecond, and small responses are not compressed.
  const { createGunzip } = process.getBuiltinModule('node:zlib');
  const content = body.pipe(joiner()).pipe(createGunzip({ chunkSize: OUTPUT_BYTES }));
  // pipe() does not forward errors.
  body.on('error', () => content.destroy());
  // The thread gets its next bytes when this listener returns, and decompresses them while the chunk is decoded in the
  // next tick. The stream also ends in a tick, and ticks run in order.
  return content.on('data', (chunk: Buffer) =>
    process.nextTick(() => {
      if (!content.destroyed) onChunk(chunk);
    }),
  );
}

/** Joins as many bytes as were sent before, so that the first items and the next continue token are not delayed. */
function joiner(): Transform {
  let pieces: Buffer[] = [];
  let [sent, length] = [0, 0];
  const take = () => {
    const joined = Buffer.concat(pieces);
    sent += length;
    [pieces, length] = [[], 0];
    return joined;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pieces.push(chunk);
      length += chunk.length;
      if (length < Math.min(sent, INPUT_BYTES)) done();
      else done(null, take());
    },
    flush: done => done(null, take()),
  });
}
