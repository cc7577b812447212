/** Streamed responses over node:http(s), for watches. */
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { countWatched } from '../../controller/collect.ts';
import { MAX_OBJECT_LENGTH, MAX_PIECES, MAX_REFUSAL_LENGTH } from '../wire.ts';
import { destroyOnAbort } from './session.ts';

/** In characters. */
const MAX_LINE_LENGTH = MAX_OBJECT_LENGTH;

export interface StreamRequest {
  url: URL;
  headers: OutgoingHttpHeaders;
  agent: http.Agent;
  /** Aborts the request and its response. */
  signal: AbortSignal;
}

/** Resolves at the response head; rejects with the error of node:http. */
export function openStream({ url, headers, agent, signal }: StreamRequest): Promise<IncomingMessage> {
  const { request: open } = url.protocol === 'http:' ? http : https;
  return new Promise((resolve, reject) => {
    const request = open(url, { method: 'GET', headers, agent });
    request.on('error', reject);
    request.on('response', resolve);
    destroyOnAbort(request, signal);
    request.end();
  });
}

/**
 * Resolves at the end of the response. Throws if the connection breaks, the last line is cut off, or a line is too
 * long.
 */
export async function readLines(response: IncomingMessage, onLine: (line: string) => void): Promise<void> {
  response.setEncoding('utf8');
  // Chunks of the unfinished line. They are joined once: joining at every chunk takes quadratic time.
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<string>) {
    countWatched(chunk.length);
    const lines = chunk.split('\n');
    const rest = lines.pop() ?? '';
    for (const end of lines) {
      const line = pieces.join('') + end;
      [pieces, length] = [[], 0];
      if (line !== '') onLine(line);
    }
    pieces.push(rest);
    length += rest.length;
    if (length > MAX_LINE_LENGTH) throw new Error(`a line has more than ${MAX_LINE_LENGTH} characters`);
    if (pieces.length > MAX_PIECES) throw new Error(`a line came in more than ${MAX_PIECES} pieces`);
  }
  if (length > 0) throw new Error('the answer ended inside a line');
}

/** The body of an error response; truncated if the connection breaks or the body is too long. */
export async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_REFUSAL_LENGTH || chunks.length >= MAX_PIECES) break;
    }
  } catch {
    // The connection broke.
  }
  return Buffer.concat(chunks);
}
