/** Transports to servers of the test. */
import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../../../src/controller/clock.ts';
import type { Credentials } from '../../../../src/kube/auth/credentials.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';

export const none: Credentials = {
  secureContext: undefined,
  headers: {},
  certificateEnds: () => undefined,
  renewal: undefined,
};

interface TransportOptions {
  deadlineMs?: number;
  credentials?: () => Promise<Credentials>;
  clock?: Clock;
  concurrency?: number;
  mayWrite?: () => boolean;
  meanwhile?: () => void;
  /** Of the server in the kubeconfig. */
  path?: string;
}

interface Options extends TransportOptions {
  status: string;
  retryAfter: string;
  afterMs?: number;
}

/** A server that answers every request the same after a delay. */
export async function turnedAway(t: TestContext, { status, retryAfter, afterMs = 0, ...options }: Options) {
  let sends = 0;
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', () => {
      sends += 1;
      const answer = `HTTP/1.1 ${status}\r\nRetry-After: ${retryAfter}\r\nContent-Length: 0\r\n\r\n`;
      setTimeout(() => socket.write(answer), afterMs);
    });
  });
  return { ...(await transportTo(t, server, options)), sends: () => sends };
}

export async function transportTo(t: TestContext, server: Server, { path = '', ...options }: TransportOptions) {
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const transport = new Transport({
    access: { cluster: { name: 'c', server: address, skipTlsVerify: false }, user: { name: 'u' }, source: '/k' },
    credentials: async () => none,
    userAgent: 'test',
    env: {},
    clock: systemClock,
    log: () => {},
    ...options,
  });
  t.after(() => {
    transport.close();
    server.close();
  });
  return { transport, address };
}

export async function until(condition: () => boolean): Promise<void> {
  const ends = performance.now() + 30_000;
  while (!condition()) {
    assert.ok(performance.now() < ends, 'not within 30 s');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
