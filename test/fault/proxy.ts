/**
 * A reverse proxy on loopback between the product and a real API server that treats requests and responses as a bad
 * network or an overloaded server does. Rules choose a treatment for a request (treatments.ts) or see the chunks of a
 * watch; without rules everything is forwarded.
 *
 * Not faithful: client and server connections are not paired, so the client sees a reset when the server closes a
 * connection without a response.
 */
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, createServer as createTlsServer, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { KeyPair } from '../cluster/certificates.ts';
import { type Asked, isWatch } from './asked.ts';
import { kubeconfigOf } from './proxy-kubeconfig.ts';
import { reset } from './reset.ts';

/** The server, and the client certificate; without one the client's Authorization header is forwarded. */
export interface Upstream {
  server: string;
  ca: string;
  admin?: KeyPair;
}

export interface Exchange {
  asked: Asked;
  client: ServerResponse;
  /** Forwards the request; resolves with the response. Never rejects: without a response the client is reset. */
  forward(): Promise<IncomingMessage>;
  /** Streams the response to the client, subject to the proxy's piece rules. */
  pass(answer: IncomingMessage): void;
}

/** Handles a request instead of forward() and pass(). */
export type Treatment = (exchange: Exchange) => unknown;
/** The first rule that returns a treatment decides. */
export type RequestRule = (asked: Asked) => Treatment | undefined;
/** Gets each chunk of a watch, and an empty one at its end; returns 'eaten' to drop it. */
export type PieceRule = (asked: Asked, piece: Buffer, client: ServerResponse) => 'eaten' | undefined;

/** The path prefix that identifies a process: plain HTTP has no client certificate. */
const OF_PROCESS = /^\/(life-\d+)(\/.*)$/;

export class FaultProxy {
  /** Every request so far, the oldest first. */
  readonly requests: Asked[] = [];
  /** http://127.0.0.1:PORT, or https:// */
  readonly url: string;
  /** Path of a kubeconfig that points here, without credentials. */
  readonly kubeconfig: string;
  /** Responses are JSON, whatever the client prefers. */
  isJson = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Sockets that silence() cut off. */
  readonly #dead = new WeakSet<Socket>();
  readonly #requestRules = new Set<RequestRule>();
  readonly #pieceRules = new Set<PieceRule>();
  readonly #listeners = new Set<(asked: Asked) => void>();
  #upstream: Upstream;
  #agent: Agent;
  /** Incremented by silence(): requests in flight then never get a response. */
  #era = 0;
  #silent = false;

  constructor(server: Server, upstream: Upstream, folder: string, isTls: boolean) {
    const { port } = server.address() as AddressInfo;
    this.url = `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`;
    this.kubeconfig = join(folder, `proxy-${port}.kubeconfig`);
    this.#server = server;
    this.#upstream = upstream;
    this.#agent = agentFor(upstream);
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.add(socket);
      if (this.#silent) this.#dead.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('request', (request, client) => this.#serve(request, client));
  }

  /** Returns a function that removes the rule. */
  onRequest(rule: RequestRule): () => void {
    this.#requestRules.add(rule);
    return () => this.#requestRules.delete(rule);
  }

  /** Returns a function that removes the rule. */
  onPiece(rule: PieceRule): () => void {
    this.#pieceRules.add(rule);
    return () => this.#pieceRules.delete(rule);
  }

  /** The listener is called when a whole response was sent to the client; returns a function that removes it. */
  onAnswered(listener: (asked: Asked) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Further requests go there; those in flight stay where they are. */
  switchTo(upstream: Upstream): void {
    this.#upstream = upstream;
    this.#agent = agentFor(upstream);
  }

  /**
   * Drops everything in both directions and closes no socket. Returns a function that lets new connections pass; earlier
   * ones stay dead, as behind a firewall that lost its state.
   */
  silence(): () => void {
    this.#era += 1;
    this.#silent = true;
    for (const socket of this.#sockets) this.#dead.add(socket);
    return () => {
      this.#silent = false;
    };
  }

  /** Closes the port and resets every connection, so that connecting is refused. */
  async refuse(): Promise<void> {
    this.cut();
    await new Promise(resolve => this.#server.close(resolve));
  }

  /** Opens the same port again. */
  async accept(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(Number(new URL(this.url).port), '127.0.0.1', resolve));
  }

  /** Resets every open connection. */
  cut(): void {
    for (const socket of this.#sockets) reset(socket);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise(resolve => this.#server.close(resolve));
    this.#agent.destroy();
  }

  async #serve(incoming: IncomingMessage, client: ServerResponse): Promise<void> {
    const [, process, path] = OF_PROCESS.exec(incoming.url ?? '') ?? [];
    incoming.url = path ?? incoming.url;
    const url = new URL(incoming.url ?? '', this.url);
    const asked: Asked = {
      id: this.requests.length + 1,
      at: performance.now(),
      method: incoming.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      userAgent: incoming.headers['user-agent'] ?? '',
      process,
    };
    this.requests.push(asked);
    const { socket } = incoming;
    client.on('error', () => {});
    client.on('finish', () => {
      asked.status = client.statusCode;
      asked.answeredAt = performance.now();
      for (const listener of this.#listeners) listener(asked);
    });
    const era = this.#era;
    const isLive = () => era === this.#era && !client.destroyed;
    const body = await buffer(incoming).catch(() => undefined);
    if (this.#silent || this.#dead.has(socket) || body === undefined) return;
    const exchange: Exchange = {
      asked,
      client,
      forward: () => this.#forward(incoming, body, client, isLive),
      pass: answer => this.#pass(asked, answer, client, isLive),
    };
    for (const rule of this.#requestRules) {
      const treatment = rule(asked);
      if (treatment !== undefined) return void (await treatment(exchange));
    }
    exchange.pass(await exchange.forward());
  }

  #forward(
    { url, method = 'GET', headers: sent }: IncomingMessage,
    body: Buffer,
    client: ServerResponse,
    isLive: () => boolean,
  ): Promise<IncomingMessage> {
    const { server, admin } = this.#upstream;
    const { host: _host, connection: _connection, authorization, ...headers } = sent;
    if (admin === undefined && authorization !== undefined) Object.assign(headers, { authorization });
    if (this.isJson) headers.accept = 'application/json';
    return new Promise<IncomingMessage>(resolve => {
      const options = { agent: this.#agent, method, headers };
      const upstream = httpsRequest(new URL(url ?? '', server), options, resolve);
      upstream.on('error', () => {
        if (isLive()) reset(client.socket);
      });
      client.on('close', () => upstream.destroy());
      upstream.end(body);
    });
  }

  #pass(asked: Asked, answer: IncomingMessage, client: ServerResponse, isLive: () => boolean): void {
    const eaten = (piece: Buffer) =>
      isWatch(asked) && [...this.#pieceRules].some(rule => rule(asked, piece, client) !== undefined);
    if (!isLive()) return;
    const { connection: _connection, 'transfer-encoding': _encoding, ...headers } = answer.headers;
    client.writeHead(answer.statusCode ?? 0, headers);
    client.flushHeaders();
    answer.on('data', (piece: Buffer) => {
      if (isLive() && !eaten(piece)) client.write(piece);
    });
    answer.on('end', () => {
      if (isLive() && !eaten(Buffer.alloc(0))) client.end();
    });
    answer.on('error', () => {
      if (isLive()) reset(client.socket);
    });
  }
}

/**
 * Listens on a free port.
 * @param folder for its kubeconfig
 * @param serving its certificate, for clients with credentials, which are not sent over http://
 */
export async function startProxy(upstream: Upstream, folder: string, serving?: KeyPair): Promise<FaultProxy> {
  // Watches have no end, and clients under test may be slow.
  const patient = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 };
  const server = serving === undefined ? createServer(patient) : createTlsServer({ ...patient, ...serving });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const proxy = new FaultProxy(server, upstream, folder, serving !== undefined);
  await writeFile(proxy.kubeconfig, kubeconfigOf(proxy.url, {}), { mode: 0o600 });
  return proxy;
}

function agentFor({ ca, admin }: Upstream): Agent {
  return new Agent({ keepAlive: true, ca, ...admin });
}
