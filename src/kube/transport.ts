/**
 * The one way to the API server: a keep-alive agent, deadlines, retries where they are safe, and `-v` logs.
 *
 * What is sent again, and why that is safe:
 * - 429 and 503 with Retry-After: the server says it did nothing. At most 10 times, as client-go.
 * - a kept connection that was closed as it was used again: only requests marked `replayable`. Reads are, and so are
 *   writes guarded by resourceVersion, UID or a name of our own: done twice they end as a conflict or "gone", which
 *   callers expect. A create of the user's object is not: it would report its own object as somebody else's.
 * - 401 with credentials that can be renewed (exec plugin, token file): once, with fresh ones.
 */
import http from 'node:http';
import https from 'node:https';
import type { NodepoolError } from '../nodepool/errors.ts';
import { type Clock, sleep } from './clock.ts';
import { connectionError } from './connection-error.ts';
import type { Credentials } from './credentials.ts';
import { type Answer, exchange, StaleSocketError } from './exchange.ts';
import type { Access } from './kubeconfig.ts';
import { proxyEnvironment } from './proxy.ts';
import { logAnswer, logRequest, type RequestLog } from './request-log.ts';

/** A request that has no answer after this long has failed, unless --request-timeout says otherwise. */
export const DEFAULT_DEADLINE_MS = 30_000;
/** Sockets, and so requests in flight, unless the caller says otherwise. */
export const DEFAULT_CONCURRENCY = 32;
/** client-go's bound (`maxRetries` of its rest.Request). */
const MOST_RETRIES = 10;
const LONGEST_DELAY_MS = 30_000;
/** The server would say 401 to a token that just expired: it is read anew this often, as client-go does. */
const RENEW_AFTER_MS = 60_000;

export interface TransportOptions {
  access: Access;
  /** Called at first use, again after RENEW_AFTER_MS when renewable, and after a 401. */
  credentials: () => Promise<Credentials>;
  userAgent: string;
  concurrency?: number;
  /** Milliseconds; 0 waits for ever. */
  deadlineMs?: number;
  env: Record<string, string | undefined>;
  clock: Clock;
  log: RequestLog;
}

export interface Request {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Absolute, below the server's own path: `/api/v1/nodes`. */
  path: string;
  query?: Record<string, string | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Default `application/json`. */
  contentType?: string;
  /** Default `application/json`. */
  accept?: string;
  /** Whether sending it twice does no harm; default: GETs are. */
  replayable?: boolean;
}

interface Session {
  credentials: Credentials;
  agent: http.Agent;
  /** By the clock. */
  since: number;
}

export class Transport {
  readonly access: Access;
  readonly #options: TransportOptions;
  readonly #base: string;
  readonly #agents = new Set<http.Agent>();
  #session: Promise<Session> | undefined;
  /** Free places for requests; waiters are served in order. */
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(options: TransportOptions) {
    this.#options = options;
    this.access = options.access;
    this.#base = options.access.cluster.server;
    this.#free = options.concurrency ?? DEFAULT_CONCURRENCY;
  }

  /** Any HTTP answer resolves; throws NodepoolError when there is none. */
  async request(request: Request): Promise<Answer> {
    await this.#acquire();
    try {
      return await this.#withRetries(request);
    } finally {
      this.#release();
    }
  }

  /** When the client certificate in use ends: what a 401 may be due to. */
  async certificateEnds(): Promise<Date | undefined> {
    return (await this.#session)?.credentials.certificateEnds;
  }

  /** Ends the sockets; requests in flight fail. */
  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  async #withRetries(request: Request): Promise<Answer> {
    const replayable = request.replayable ?? (request.method ?? 'GET') === 'GET';
    let [replayed, renewed] = [false, false];
    for (let retries = 0; ; ) {
      const session = await this.#currentSession();
      let answer: Answer;
      try {
        answer = await this.#send(request, session);
      } catch (error) {
        if (!(error instanceof StaleSocketError) || replayed || !replayable) throw this.#explain(error);
        replayed = true;
        // The others lie idle since the same time: the second attempt gets a new connection.
        for (const socket of Object.values(session.agent.freeSockets).flat()) socket?.destroy();
        continue;
      }
      const delay = retryDelay(answer);
      if (answer.status === 401 && session.credentials.renewable && !renewed) {
        renewed = true;
        this.#session = undefined;
      } else if (delay !== undefined && retries++ < MOST_RETRIES) {
        await sleep(this.#options.clock, delay);
      } else {
        return answer;
      }
    }
  }

  async #send(request: Request, { agent, credentials }: Session): Promise<Answer> {
    const { clock, log, userAgent, deadlineMs = DEFAULT_DEADLINE_MS } = this.#options;
    const method = request.method ?? 'GET';
    const url = new URL(this.#base + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers: http.OutgoingHttpHeaders = {
      ...credentials.headers,
      Accept: request.accept ?? 'application/json',
      'User-Agent': userAgent,
    };
    if (body !== undefined) {
      headers['Content-Type'] = request.contentType ?? 'application/json';
      headers['Content-Length'] = Buffer.byteLength(body);
    }
    logRequest(log, headers, body);
    const start = clock.now();
    const answer = await exchange({ url, method, headers, body, agent, deadlineMs: deadlineMs || undefined, clock });
    logAnswer(log, method, url, answer, clock.now() - start);
    return answer;
  }

  #currentSession(): Promise<Session> {
    this.#session ??= this.#open();
    const current = this.#session;
    return current.then(session => {
      const { clock } = this.#options;
      if (!session.credentials.renewable || clock.now() - session.since < RENEW_AFTER_MS) return session;
      if (this.#session === current) this.#session = this.#open();
      return this.#session ?? session;
    });
  }

  async #open(): Promise<Session> {
    const { access, credentials: load, clock, concurrency = DEFAULT_CONCURRENCY, env } = this.#options;
    const credentials = await load();
    const { cluster } = access;
    const { secureContext } = credentials;
    const common = { keepAlive: true, maxSockets: concurrency, ...proxyEnvironment(cluster, env) };
    const agent =
      secureContext === undefined
        ? new http.Agent(common)
        : new https.Agent({
            ...common,
            secureContext,
            rejectUnauthorized: !cluster.skipTlsVerify,
            ...(cluster.tlsServerName === undefined ? {} : { servername: cluster.tlsServerName }),
          });
    this.#agents.add(agent);
    return { credentials, agent, since: clock.now() };
  }

  #explain(error: unknown): NodepoolError {
    const { access, deadlineMs = DEFAULT_DEADLINE_MS } = this.#options;
    return connectionError(error, access, deadlineMs);
  }

  #acquire(): Promise<void> | void {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    return new Promise(resolve => {
      this.#waiting.push(resolve);
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** Milliseconds to wait before sending it again; undefined when it is not to be sent again. */
export function retryDelay({ status, headers }: Pick<Answer, 'status' | 'headers'>): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, LONGEST_DELAY_MS) : undefined;
}
