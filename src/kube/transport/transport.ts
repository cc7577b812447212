/**
 * All requests to the API server: a keep-alive agent, a limit of requests in flight, deadlines, safe retries, `-v`
 * logs. Every HTTP response is a value; resources/ interprets it.
 *
 * Retries:
 * - 429 and 503 with Retry-After: the server did nothing. At most 10 times, as in client-go. A caller can handle 429
 *   itself: for an eviction it means a PodDisruptionBudget.
 * - A reused connection that was closed or dead: only requests marked `replayable`. Those are reads, and writes guarded
 *   by resourceVersion, UID or a generated name: repeated, they end as a conflict or "gone", which callers expect. The
 *   create of a user's object is not replayable: it would find its own object and report `exists`.
 * - 401: once, if the credentials can be renewed (exec plugin, token file, certificate files).
 *
 * One deadline covers all retries and starts when the limiter admits the request. A write re-checks `mayWrite` before
 * every attempt.
 *
 * If one connection is silent for too long (a watch past its timeout, a request without a response), all kept-alive
 * connections count as dead, as with HTTP/2, which has only one: idle ones are closed, waiting replayable requests are
 * sent again.
 */
import type http from 'node:http';
import { type Clock, sleep } from '../../controller/clock.ts';
import { createLimiter, type Limiter } from '../../controller/limiter.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Credentials } from '../auth/credentials.ts';
import { addressPlace, type ClusterAccess } from '../auth/kubeconfig.ts';
import { UNKNOWN_AUTHORITY } from '../auth/tls-material.ts';
import { isNoRoute, NO_ROUTE_NEXT, NO_ROUTE_TEXT, withRoute } from '../route.ts';
import { MAX_ANSWER_LENGTH, MAX_PIECES } from '../wire.ts';
import { within } from '../within.ts';
import { DeadlineError, exchange, StaleSocketError, TooLongError } from './exchange.ts';
import { bodyOf, isWrite, type Request, urlOf } from './request.ts';
import { HIDDEN, logAnswer, logRequest, logStream, type RequestLog } from './request-log.ts';
import { type ApiResponse, retryDelay, toResponse } from './response.ts';
import { ServerClock } from './server-clock.ts';
import { endIdleSockets, isTimeout, type Session, Sessions } from './session.ts';
import { openStream } from './stream.ts';

/** The default of --request-timeout. */
export const DEFAULT_DEADLINE_MS = 30_000;
/** The default limit of requests in flight. */
const DEFAULT_CONCURRENCY = 32;
/** As `maxRetries` of client-go's rest.Request. */
const MAX_RETRIES = 10;

export interface TransportOptions {
  access: ClusterAccess;
  /** Called at first use, and again after a failure. */
  credentials: () => Promise<Credentials>;
  userAgent: string;
  /** Maximum number of requests in flight, without urgent ones and watches. */
  concurrency?: number;
  /** Limit in milliseconds of a request with its retries and login; 0 means none. The default excludes the login. */
  deadlineMs?: number;
  env: Record<string, string | undefined>;
  clock: Clock;
  log: RequestLog;
  /** Called with the code of every response, and with `<error>` for every request that got no response. */
  onRequest?: (code: string, method: string, host: string) => void;
  /** Called before each attempt of a write that is not urgent; the write fails if this returns false. */
  mayWrite?: () => boolean;
  /** Called once all first requests are sent: work done here costs no time, as the server takes longer. */
  meanwhile?: (() => void) | undefined;
}

export class Transport {
  readonly access: ClusterAccess;
  readonly #options: TransportOptions;
  readonly #base: string;
  readonly #sessions: Sessions;
  readonly #limit: Limiter;
  readonly #closed = new AbortController();
  /** Callbacks that fail the replayable requests that wait on a reused connection. */
  readonly #unanswered = new Set<() => void>();
  #meanwhile: (() => void) | undefined;
  /** Number of requests to send before #meanwhile is called. */
  #unsent = 0;
  readonly #serverClock = new ServerClock();

  constructor(options: TransportOptions) {
    this.#options = options;
    this.access = options.access;
    const { origin, pathname } = new URL(options.access.cluster.server);
    // As in client-go, without query and fragment.
    this.#base = origin + pathname.replace(/\/+/g, '/').replace(/\/$/, '');
    const { access, credentials, concurrency = DEFAULT_CONCURRENCY, env, clock } = options;
    this.#sessions = new Sessions({ cluster: access.cluster, credentials, env, clock });
    this.#limit = createLimiter(concurrency);
    this.#meanwhile = options.meanwhile;
  }

  /** Resolves with any HTTP response. Throws NodepoolError if there is none. */
  async request(request: Request): Promise<ApiResponse> {
    this.#unsent += 1;
    return request.urgent ? this.#withRetries(request) : this.#limit(() => this.#withRetries(request));
  }

  /**
   * A GET whose response, of any status, is streamed. It is only retried after a 401 and has no deadline: the signal
   * aborts the request and the response. Throws NodepoolError if there is no response.
   */
  async stream(
    request: Pick<Request, 'path' | 'query' | 'accept'>,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    for (let refused: Session | undefined; ; ) {
      const session = await this.#session(refused);
      const url = urlOf(this.#base, request);
      const headers = this.#headers(request, session);
      const fellSilent = () => {
        if (isTimeout(signal)) this.#distrust(session);
      };
      logRequest(this.#options.log, headers, undefined);
      const sentAt = this.#options.clock.now();
      const opening = openStream({ url, headers, agent: session.agent, signal });
      const received = opening.then(({ statusCode }) => statusCode);
      this.#count('GET', url, received);
      signal.addEventListener('abort', fellSilent, { once: true });
      const response = await opening.catch(async (error: unknown) => {
        throw connectionError(await withRoute(error), this.access, this.#deadlineOf({}), false);
      });
      this.#serverClock.note(response.headers.date, sentAt, this.#options.clock.now());
      logStream(this.#options.log, url, response);
      if (response.statusCode !== 401 || session.credentials.renewal === undefined || refused) return response;
      response.resume();
      refused = session;
    }
  }

  /** By the Date headers of the responses; undefined before the first. */
  serverTime(): Date | undefined {
    return this.#serverClock.timeAt(this.#options.clock.now());
  }

  /** notAfter of the client certificate in use: a 401 may mean that it has expired. */
  get certificateEnds(): Date | undefined {
    return this.#sessions.certificateEnds;
  }

  /** Closes the sockets; requests in flight and later ones fail. */
  close(): void {
    this.#closed.abort();
    this.#sessions.close();
  }

  async #withRetries(request: Request): Promise<ApiResponse> {
    const { clock } = this.#options;
    const deadlineMs = this.#deadlineOf(request);
    const replayable = request.replayable ?? (request.method ?? 'GET') === 'GET';
    let ends = clock.now() + (deadlineMs || Number.POSITIVE_INFINITY);
    let replayed = false;
    let refused: Session | undefined;
    for (let retries = 0; ; ) {
      const loginStart = clock.now();
      const session = await this.#login(refused, ends);
      // A person may be logging in, so the default deadline excludes the login.
      if (this.#options.deadlineMs === undefined) ends += clock.now() - loginStart;
      this.#checkMaySend(request);
      let response: ApiResponse;
      try {
        response = await this.#send(request, session, ends, replayable && !replayed);
      } catch (error) {
        const isStale = error instanceof StaleSocketError;
        // Other idle connections may be dead as well: the next request opens a new one.
        if (isStale || error instanceof DeadlineError) endIdleSockets(session.agent);
        const isLate = request.signal !== undefined && isTimeout(request.signal);
        if (isLate || (error instanceof DeadlineError && error.isSilent)) this.#distrust(session);
        if (!isStale || replayed || !replayable)
          throw connectionError(await withRoute(error), this.access, deadlineMs, isWrite(request));
        replayed = true;
        continue;
      }
      const isAnswer = response.status === 429 && request.tooManyIsAnswer === true;
      const delay = isAnswer ? undefined : retryDelay(response, Math.random());
      if (response.status === 401 && session.credentials.renewal !== undefined && refused === undefined) {
        refused = session;
      } else if (delay !== undefined && retries++ < MAX_RETRIES && clock.now() + delay < ends) {
        const signals = [this.#closed.signal, request.signal].filter(signal => signal !== undefined);
        await sleep(clock, delay, AbortSignal.any(signals));
      } else {
        return response;
      }
    }
  }

  /** Checks again, because the request may have waited in the queue. */
  #checkMaySend({ method = 'GET', urgent = false, signal }: Request): void {
    if (this.#closed.signal.aborted || signal?.aborted) {
      throw new NodepoolError('cluster', 'the request was canceled by the client');
    }
    if (method !== 'GET' && !urgent && this.#options.mayWrite?.() === false) {
      throw new NodepoolError('cluster', 'this process may no longer write: it lost its lease');
    }
  }

  /** @param refused the session that got a 401 */
  #session(refused: Session | undefined): Promise<Session> {
    return refused === undefined ? this.#sessions.current() : this.#sessions.renewed(refused);
  }

  async #login(refused: Session | undefined, ends: number): Promise<Session> {
    const { access, clock, deadlineMs } = this.#options;
    const session = this.#session(refused);
    if (!deadlineMs) return session;
    const late = () => {
      const problem = `no credentials for user "${access.user.name}" after ${deadlineMs / 1000} s`;
      const next = "log in with the user's plugin, or wait longer with --request-timeout";
      return new NodepoolError('cluster', problem, next, { isGeneral: true });
    };
    return within(clock, ends - clock.now(), session, late);
  }

  async #send(request: Request, session: Session, ends: number, mayReplay: boolean): Promise<ApiResponse> {
    const { access, clock, log } = this.#options;
    const { agent } = session;
    const method = request.method ?? 'GET';
    const url = urlOf(this.#base, request);
    const body = request.body === undefined ? undefined : bodyOf(request.body);
    const headers = this.#headers(request, session);
    if (body !== undefined) {
      headers['Content-Type'] = request.contentType ?? 'application/json';
      headers['Content-Length'] = Buffer.byteLength(body);
    }
    // As kubectl: the server compresses large responses, a list of nodes to a tenth.
    if (method === 'GET' && access.cluster.disableCompression === undefined) headers['Accept-Encoding'] = 'gzip';
    const start = clock.now();
    if (start >= ends) throw new DeadlineError();
    logRequest(log, headers, request.isSecret && body !== undefined ? HIDDEN : body);
    const deadlineMs = Number.isFinite(ends) ? ends - start : undefined;
    const { onBody, signal } = request;
    const unanswered = mayReplay ? this.#unanswered : undefined;
    const onSent = this.#meanwhile && (() => this.#sent());
    const limits = { deadlineMs, clock, signal, unanswered };
    const answering = exchange({ url, method, headers, body, agent, ...limits, onBody, onSent });
    const received = answering.then(({ status }) => status);
    this.#count(method, url, received);
    const reply = await answering;
    this.#serverClock.note(reply.headers.date, start, clock.now());
    const response = toResponse(reply);
    const text = request.isSecret ? HIDDEN : response.text;
    logAnswer(log, method, url, { ...response, text, bytes: reply.bytes }, clock.now() - start);
    return response;
  }

  #sent(): void {
    this.#unsent -= 1;
    if (this.#unsent > 0) return;
    this.#meanwhile?.();
    this.#meanwhile = undefined;
  }

  /** Called if one connection was silent for too long. */
  #distrust(session: Session): void {
    endIdleSockets(session.agent);
    for (const giveUp of [...this.#unanswered]) giveUp();
  }

  #count(method: string, { host }: URL, status: Promise<number | undefined>): void {
    const { onRequest } = this.#options;
    const count = (code: string) => onRequest?.(code, method, host);
    status.then(
      code => count(String(code)),
      () => count('<error>'),
    );
  }

  #headers({ accept = 'application/json' }: Request, { credentials }: Session): http.OutgoingHttpHeaders {
    return { ...credentials.headers, Accept: accept, 'User-Agent': this.#options.userAgent };
  }

  /** Milliseconds; 0: none. */
  #deadlineOf({ deadlineMs: requestDeadlineMs }: Pick<Request, 'deadlineMs'>): number {
    const { deadlineMs = DEFAULT_DEADLINE_MS } = this.#options;
    return requestDeadlineMs === undefined ? deadlineMs : Math.min(requestDeadlineMs, deadlineMs || requestDeadlineMs);
  }
}

// Errors for requests that got no response, each with a next step.

/** ENOTFOUND is missing: it means that a name server has answered that the name does not exist. */
const TRANSIENT = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN']);

/**
 * Any other error than NodepoolError counts as a failure of the connection.
 * @param isWrite the server may have executed the write
 */
export function connectionError(
  error: unknown,
  access: ClusterAccess,
  deadlineMs: number,
  isWrite: boolean,
): NodepoolError {
  if (error instanceof NodepoolError) return error;
  const problem = error instanceof StaleSocketError ? (error.cause ?? error) : error;
  const { message, next } = explain(problem as NodeJS.ErrnoException, access, deadlineMs, isWrite);
  const { code = '' } = problem as NodeJS.ErrnoException;
  const isTransient = problem instanceof DeadlineError || TRANSIENT.has(code) || isNoRoute(problem);
  return new NodepoolError('cluster', message, next, { cause: error, isGeneral: true, isTransient });
}

function explain(
  error: NodeJS.ErrnoException,
  access: ClusterAccess,
  deadlineMs: number,
  isWrite: boolean,
): { message: string; next: string } {
  const unknown = isWrite ? '; the change may have been made' : '';
  const { cluster, source, isServerFlag } = access;
  const named = isServerFlag ? '--server' : source;
  const { server } = cluster;
  const { hostname } = new URL(server);
  const unreachable = `cannot reach the server ${server}`;
  const untrusted = `the certificate of the server ${server}`;
  if (error instanceof DeadlineError) {
    return {
      message: `the server ${server} gave no answer within ${deadlineMs / 1000} s`,
      next: `check that the cluster is up, or wait longer with --request-timeout${unknown}`,
    };
  }
  if (error instanceof TooLongError) {
    return {
      message: `the server ${server} sent an answer of more than ${MAX_ANSWER_LENGTH / 1024 ** 2} MiB or ${MAX_PIECES} pieces`,
      next: `check that ${named} is the address of a Kubernetes API server, and check proxies in front of it${unknown}`,
    };
  }
  if (isNoRoute(error)) return { message: `${unreachable}: ${NO_ROUTE_TEXT}`, next: NO_ROUTE_NEXT };
  if (UNKNOWN_AUTHORITY.has(error.code ?? '')) {
    return {
      message: `${untrusted} is signed by an unknown authority`,
      next: `check certificate-authority of cluster "${cluster.name}" in ${source}`,
    };
  }
  switch (error.code) {
    case 'ECONNREFUSED':
      return {
        message: `${unreachable}: connection refused`,
        next: `check that the server is running, and the address in ${named}`,
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        message: `${unreachable}: the name ${hostname} cannot be resolved`,
        next: `check the server's name in ${named} and your network`,
      };
    case 'CERT_HAS_EXPIRED':
      return {
        message: `${untrusted} has expired`,
        next: "renew the certificate on the server, or check this machine's clock",
      };
    case 'CERT_NOT_YET_VALID':
      return { message: `${untrusted} is not valid yet`, next: "check this machine's clock" };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        message: `${untrusted} is not valid for the name ${cluster.tlsServerName ?? hostname}`,
        next: access.isNameFlag
          ? 'set --tls-server-name to a name in the certificate'
          : `correct the server's name, or set tls-server-name in ${source}`,
      };
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return {
        message: `${unreachable}: unexpected TLS answer (${firstLine(error)})`,
        next: `check https:// or http:// and the port in ${addressPlace(access)}`,
      };
    case 'ECONNRESET':
    case 'EPIPE':
      return {
        message: `the server ${server} closed the connection before it answered`,
        next: `try again${unknown}`,
      };
    default:
      return { message: `${unreachable}: ${firstLine(error)}`, next: `check the server in ${named} and your network` };
  }
}

function firstLine(error: Error): string {
  return error.message.split('\n', 1)[0] ?? '';
}
