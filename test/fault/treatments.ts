/** What a proxy may do with a request: each is one fault. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reset, type Treatment } from './proxy.ts';

/** An answer of the proxy's own, with a Status as the API server writes it; the server is not asked. */
export function answerWith(status: number, message: string, headers: Record<string, string> = {}): Treatment {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: status };
  return ({ client }) =>
    client.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** The connection is reset before the server sees the request. */
export const drop: Treatment = ({ client }) => reset(client.socket);

/** The server does it and answers, and the connection is reset before the client hears of it. */
export const loseAnswer: Treatment = async ({ forward, client }) => {
  const answer = await forward();
  answer.resume().once('end', () => reset(client.socket));
};

/** Neither the server nor the client hears anything; the connection stays. */
export const hang: Treatment = () => {};

/** The server does it and answers; the client waits for ever. */
export const hangAnswer: Treatment = async ({ forward }) => void (await forward()).resume();

/** Sent on that much later, which may be a time that is not known yet. */
export function delay(until: number | Promise<unknown>): Treatment {
  return async ({ forward, pass }) => {
    await (typeof until === 'number' ? sleep(until) : until);
    pass(await forward());
  };
}

/** The body comes at that speed. The server is not read faster than that, but for what the sockets hold. */
export function throttle(bytesPerSecond: number): Treatment {
  const piece = Math.max(1, Math.floor(bytesPerSecond / 10));
  return async ({ forward, client }) => {
    const answer = await forward();
    const { connection: _connection, 'transfer-encoding': _encoding, ...headers } = answer.headers;
    client.writeHead(answer.statusCode ?? 0, headers);
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        for (let from = 0; from < chunk.length; from += piece) {
          // Before, not after: with its last piece the answer is over, and is to be known as answered.
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
