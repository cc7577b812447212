/**
 * Credentials with the keep-alive agent that uses them: one session for all requests, renewed when its credentials are
 * due for renewal or refused. Requests in flight keep their session.
 */
import type http from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../controller/clock.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { ClusterAccess } from '../auth/kubeconfig.ts';
import { proxyOf } from '../proxy/proxy.ts';
import { newAgent } from '../proxy/proxy-agent.ts';

/** The same object until its credentials change. */
export interface Session {
  readonly credentials: Credentials;
  /** Opens a connection if none is idle: the transport limits the requests in flight. */
  readonly agent: http.Agent;
}

export interface SessionOptions {
  cluster: ClusterAccess['cluster'];
  /** Called at first use, and again after a failure. */
  credentials: () => Promise<Credentials>;
  env: Record<string, string | undefined>;
  clock: Clock;
}

export class Sessions {
  readonly #options: SessionOptions;
  #session: Session | undefined;
  /** Clock time of the last load of #session's credentials. */
  #since = 0;
  /** The load in flight: at most one, because each may be a login. */
  #loading: Promise<Session> | undefined;
  /** The renewal of each refused session: requests that failed with the same session share one login. */
  readonly #renewals = new WeakMap<Session, Promise<Session>>();
  /** Last: the agent of #session. Before it: earlier agents that may have requests in flight. */
  #agents: http.Agent[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Rejects if the credentials cannot be loaded; the next call tries again. */
  async current(): Promise<Session> {
    const session = this.#session;
    if (session === undefined) return this.#load(this.#options.credentials);
    const { renewal } = session.credentials;
    if (renewal === undefined) return session;
    const isOld = this.#options.clock.now() - this.#since >= renewal.afterMs;
    return isOld || this.#loading !== undefined ? this.#load(() => renewal.load({ refused: false })) : session;
  }

  /** The session after a 401 for `refused`, which must have a renewal. Rejects as current() does. */
  async renewed(refused: Session): Promise<Session> {
    let renewal = this.#renewals.get(refused);
    if (renewal === undefined) {
      renewal = this.#renew(refused);
      this.#renewals.set(refused, renewal);
    }
    await renewal;
    return this.current();
  }

  /** notAfter of the client certificate in use. */
  get certificateEnds(): Date | undefined {
    return this.#session?.credentials.certificateEnds();
  }

  /** Closes the sockets; requests in flight fail. */
  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  async #renew(refused: Session): Promise<Session> {
    // A load in flight may replace the refused session, or keep it.
    while (this.#loading !== undefined) await this.#loading.catch(() => {});
    const { renewal } = refused.credentials;
    if (this.#session !== refused || renewal === undefined) return this.current();
    // Does not send the refused credentials again, even if the load fails.
    this.#session = undefined;
    return this.#load(() => renewal.load({ refused: true }), refused);
  }

  #load(load: () => Promise<Credentials>, before = this.#session): Promise<Session> {
    this.#loading ??= this.#open(load, before).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #open(load: () => Promise<Credentials>, before: Session | undefined): Promise<Session> {
    const credentials = await load();
    this.#since = this.#options.clock.now();
    const keepsSockets = before !== undefined && before.credentials.secureContext === credentials.secureContext;
    if (
      keepsSockets &&
      before === this.#session &&
      isDeepStrictEqual(before.credentials.headers, credentials.headers)
    ) {
      return before;
    }
    const agent = keepsSockets ? before.agent : this.#newAgent(credentials);
    this.#session = { credentials, agent };
    return this.#session;
  }

  #newAgent({ secureContext }: Credentials): http.Agent {
    const { cluster, env } = this.#options;
    const target = new URL(cluster.server);
    const proxy = proxyOf(cluster, env);
    const { tlsServerName, skipTlsVerify } = cluster;
    const tls =
      secureContext === undefined
        ? {}
        : {
            secureContext,
            rejectUnauthorized: !skipTlsVerify,
            ...(tlsServerName === undefined ? {} : asNamed(tlsServerName)),
          };
    const agent = newAgent(target, proxy, { keepAlive: true, ...tls });
    for (const old of this.#agents) {
      old.maxFreeSockets = 0;
      endIdleSockets(old);
    }
    this.#agents = [...this.#agents.filter(isInUse), agent];
    return agent;
  }
}

/** The name for verification of the server's certificate; an address must not be sent as SNI (RFC 6066, 3). */
function asNamed(name: string): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  if (isIP(name) === 0) return { servername: name };
  return { servername: '', checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate) };
}

/** Makes the next request or watch open a new connection. */
export function endIdleSockets(agent: http.Agent): void {
  for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
}

function isInUse({ sockets, requests }: http.Agent): boolean {
  return Object.keys(sockets).length + Object.keys(requests).length > 0;
}

// Aborts requests of node:http(s).

/**
 * Destroys the request and its response when the signal is aborted. The `signal` option of http.request() is not used:
 * with it, Bun destroys a kept-alive socket after the end of a response, and exits.
 */
export function destroyOnAbort(request: ClientRequest, signal: AbortSignal): void {
  let response: IncomingMessage | undefined;
  const abort = () => {
    if (!response?.complete) request.destroy(new Error('canceled'));
  };
  request.once('response', answer => {
    response = answer;
  });
  request.once('close', () => signal.removeEventListener('abort', abort));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
}

/** Whether the reason is AbortSignal.timeout(): a watch sets a timeout after the end requested from the server. */
export function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
