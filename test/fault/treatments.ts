/** Faults of single requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Treatment } from './proxy.ts';
import { reset } from './reset.ts';

/** The proxy answers with a Status as of the API server, without forwarding. */
export function answerWith(status: number, message: string, headers: Record<string, string> = {}): Treatment {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: status };
  return ({ client }) =>
    client.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** The connection is reset before the server sees the request. */
export const drop: Treatment = ({ client }) => reset(client.socket);

/** The server handles the request, and the connection is reset before the response. */
export const loseAnswer: Treatment = async ({ forward, client }) => {
  const answer = await forward();
  answer.resume().once('end', () => reset(client.socket));
};

/** Drops the request and keeps the connection. */
export const hang: Treatment = () => {};

/** The server handles the request; the client gets no response. */
export const hangAnswer: Treatment = async ({ forward }) => void (await forward()).resume();

/** Forwards after a delay in ms, or once a promise resolves. */
export function delay(until: number | Promise<unknown>): Treatment {
  return async ({ forward, pass }) => {
    await (typeof until === 'number' ? sleep(until) : until);
    pass(await forward());
  };
}

/** Sends the body at that speed, and reads the server no faster, apart from socket buffers. */
export function throttle(bytesPerSecond: number): Treatment {
  const piece = Math.max(1, Math.floor(bytesPerSecond / 10));
  return async ({ forward, client }) => {
    const answer = await forward();
    const { connection: _connection, 'transfer-encoding': _encoding, ...headers } = answer.headers;
    client.writeHead(answer.statusCode ?? 0, headers);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        for (let from = 0; from < chunk.length; from += piece) {
          // Before the last chunk, which ends the response.
          await sleep(100);
          if (client.destroyed) return;
          client.write(chunk.subarray(from, from + piece));
        }
      }
      client.end();
    } catch {
      reset(client.socket);
    }
  };
}
