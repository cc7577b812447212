/** An HTTP relay before the real API server that changes requests and responses. */
import { createServer, type Server } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { ControlPlane } from '../cluster/control-plane.ts';

export interface RelayOptions {
  /** Replaces the Accept header of requests. */
  accept?: (asked: string) => string;
  /** Changes chunks of the body; such responses are requested uncompressed. */
  change?: (body: Buffer) => Buffer;
  /** Called with the path when a response of the server has ended; the client's ends after it. */
  onEnd?: (path: string) => unknown;
  /** How far the clock of the server is ahead, by its Date header. */
  aheadMs?: number;
  /** Replaces the path of requests. */
  path?: (asked: string) => string;
  /** Answers with a Status of that code instead of the server; undefined forwards the request. */
  refuse?: (path: string) => number | undefined;
}

export interface Relay {
  /** http://127.0.0.1:PORT */
  server: string;
  /** The Accept of every request. */
  asked: string[];
}

/** Ends with the test. */
export async function relay(
  t: TestContext,
  { server, ca, admin }: ControlPlane,
  { accept = asked => asked, change, onEnd, path = asked => asked, aheadMs = 0, refuse }: RelayOptions = {},
): Promise<Relay> {
  const agent = new Agent({ ca, ...admin });
  const asked: string[] = [];
  const front = createServer((incoming, outgoing) => {
    const { method = 'GET', headers, url = '' } = incoming;
    asked.push(headers.accept ?? '');
    const code = refuse?.(url);
    if (code !== undefined) {
      outgoing.writeHead(code, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code }));
      return;
    }
    const passed: typeof headers = { ...headers, accept: accept(headers.accept ?? ''), host: new URL(server).host };
    if (change !== undefined) delete passed['accept-encoding'];
    const up = request(new URL(path(url), server), { method, agent, headers: passed }, answer => {
      const date = new Date(Date.now() + aheadMs).toUTCString();
      outgoing.writeHead(answer.statusCode ?? 0, { ...answer.headers, date });
      answer.on('data', (chunk: Buffer) => outgoing.write(change === undefined ? chunk : change(chunk)));
      answer.on('end', async () => {
        await onEnd?.(url);
        outgoing.end();
      });
    });
    up.on('error', () => outgoing.destroy());
    outgoing.on('close', () => up.destroy());
    incoming.pipe(up);
  });
  return { server: await listen(t, front, agent), asked };
}

/** Serves on loopback until the test ends; returns the address. @param agent of the requests to the server behind it */
export async function listen(t: TestContext, front: Server, agent: Agent): Promise<string> {
  await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    front.closeAllConnections();
    front.close();
    agent.destroy();
  });
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}
