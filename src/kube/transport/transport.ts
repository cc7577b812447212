/**
 * The door of this folder, and the one way to the API server: a keep-alive agent, a limit of requests in flight, deadlines,
 * retries where they are safe, and `-v` logs. Every HTTP answer is a value; what it means, resources/ say.
 *
 * What is sent again, and why that is safe:
 * - 429 and 503 with Retry-After: the server says it did nothing. At most 10 times, as client-go. Who asks may keep the
 *   429s to himself: of an eviction they tell of a budget.
 * - a kept connection that was closed, or found dead, as it was used again: only requests marked `replayable`. Reads
 *   are, and so are writes guarded by resourceVersion, UID or a name of our own: done twice they end as a conflict or "gone", which
 *   callers expect. A create of the user's object is not: it would report its own object as somebody else's.
 * - 401 with credentials that can be renewed (exec plugin, files of a token or a certificate): once, with fresh ones.
 *
 * A request has one deadline for all that, from when it has a place among those in flight. A write that waited, for a
 * place or for a busy server, is sent only if it still may be.
 *
 * Where one connection falls silent (a watch outlives its time, a request gets no answer), all kept ones are taken for
 * dead, as HTTP/2 has them all in one: idle ones are closed, and what waits for an answer on one is sent anew.
 */
import type http from 'node:http';
import { type Clock, sleep } from '../../controller/clock.ts';
import { createLimiter, type Limiter } from '../../controller/limiter.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Access } from '../auth/kubeconfig.ts';
import { within } from '../auth/within.ts';
import { isTimeout } from './abort.ts';
import { type Answer, toAnswer } from './answer.ts';
import { connectionError } from './connection-error.ts';
import { DeadlineError, exchange, StaleSocketError } from './exchange.ts';
import { isWrite, type Request, urlOf } from './request.ts';
import { logAnswer, logRequest, logStream, type RequestLog } from './request-log.ts';
import { retryDelay } from './retry-after.ts';
import { endIdleSockets, type Session, Sessions } from './session.ts';
import { openStream } from './stream.ts';

/** A request that has no answer after this long has failed, unless --request-timeout says otherwise. */
export const DEFAULT_DEADLINE_MS = 30_000;
/** Requests in flight, unless the caller says otherwise. */
export const DEFAULT_CONCURRENCY = 32;
/** client-go's bound (`maxRetries` of its rest.Request). */
const MOST_RETRIES = 10;

export interface TransportOptions {
  access: Access;
  /** Called at first use, and again after a failure. */
  credentials: () => Promise<Credentials>;
  userAgent: string;
  /** Requests in flight at most, but urgent ones. Watches do not count. */
  concurrency?: number;
  /** Milliseconds for a request with its retries and a login; 0 waits for ever. The default does not count the login. */
  deadlineMs?: number;
  env: Record<string, string | undefined>;
  clock: Clock;
  log: RequestLog;
  /** Told of every answer by its code, and of every request that got none with `<error>`; host as in the URL. */
  onRequest?: (code: string, method: string, host: string) => void;
  /** Asked right before each sending of a write that is not urgent; when false, it fails. */
  mayWrite?: () => boolean;
}

export class Transport {
  readonly access: Access;
  readonly #options: TransportOptions;
  readonly #base: string;
  readonly #sessions: Sessions;
  readonly #limit: Limiter;
  readonly #closed = new AbortController();
  /** Gives up what waits for an answer on a kept connection, and may be sent again. */
  readonly #unanswered = new Set<() => void>();

  constructor(options: TransportOptions) {
    this.#options = options;
    this.access = options.access;
    this.#base = options.access.cluster.server.replace(/(?<!\/)\/+$/, '');
    const { access, credentials, concurrency = DEFAULT_CONCURRENCY, env, clock } = options;
    this.#sessions = new Sessions({ cluster: access.cluster, credentials, env, clock });
    this.#limit = createLimiter(concurrency);
  }

  /** Any HTTP answer resolves; throws NodepoolError when there is none. */
  async request(request: Request): Promise<Answer> {
    return request.urgent ? this.#withRetries(request) : this.#limit(() => this.#withRetries(request));
  }

  /**
   * A GET whose answer is read as it comes, with any status. 401 as in request(); else nothing is sent again and there is
   * no deadline: the signal ends it, the reading too. Throws NodepoolError when there is no answer.
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
      const opening = openStream({ url, headers, agent: session.agent, signal });
      this.#count(
        'GET',
        url,
        opening.then(({ statusCode }) => statusCode),
      );
      signal.addEventListener('abort', fellSilent, { once: true });
      const response = await opening.catch((error: unknown) => {
        throw this.#explain(error, this.#deadlineOf({}));
      });
      logStream(this.#options.log, url, response);
      if (response.statusCode !== 401 || session.credentials.renewal === undefined || refused) return response;
      response.resume();
      refused = session;
    }
  }

  /** When the client certificate in use ends: what a 401 may be due to. */
  get certificateEnds(): Date | undefined {
    return this.#sessions.certificateEnds;
  }

  /** Ends the sockets; requests in flight fail, and nothing is sent any more. */
  close(): void {
    this.#closed.abort();
    this.#sessions.close();
  }

  async #withRetries(request: Request): Promise<Answer> {
    const { clock } = this.#options;
    const deadlineMs = this.#deadlineOf(request);
    const replayable = request.replayable ?? (request.method ?? 'GET') === 'GET';
    let ends = clock.now() + (deadlineMs || Number.POSITIVE_INFINITY);
    let replayed = false;
    let refused: Session | undefined;
    for (let retries = 0; ; ) {
      const asked = clock.now();
      const session = await this.#login(refused, ends);
      // A person may be logging in: only a deadline of their own choice runs meanwhile.
      if (this.#options.deadlineMs === undefined) ends += clock.now() - asked;
      this.#checkMaySend(request);
      let answer: Answer;
      try {
        answer = await this.#send(request, session, ends, replayable && !replayed);
      } catch (error) {
        const isStale = error instanceof StaleSocketError;
        // The others lie idle since the same time and may be as dead: what comes next gets a new connection.
        if (isStale || error instanceof DeadlineError) endIdleSockets(session.agent);
        const isLate = request.signal !== undefined && isTimeout(request.signal);
        if (isLate || (error instanceof DeadlineError && error.isSilent)) this.#distrust(session);
        if (!isStale || replayed || !replayable) throw this.#explain(error, deadlineMs, isWrite(request));
        replayed = true;
        continue;
      }
      const isAnswer = answer.status === 429 && request.tooManyIsAnswer === true;
      const delay = isAnswer ? undefined : retryDelay(answer, Math.random());
      if (answer.status === 401 && session.credentials.renewal !== undefined && refused === undefined) {
        refused = session;
      } else if (delay !== undefined && retries++ < MOST_RETRIES && clock.now() + delay < ends) {
        const signals = [this.#closed.signal, request.signal].filter(signal => signal !== undefined);
        await sleep(clock, delay, AbortSignal.any(signals));
      } else {
        return answer;
      }
    }
  }

  /** Since the request was asked for, time has passed. */
  #checkMaySend({ method = 'GET', urgent = false, signal }: Request): void {
    if (this.#closed.signal.aborted || signal?.aborted) {
      throw new NodepoolError('cluster', 'the request was given up on our side');
    }
    if (method !== 'GET' && !urgent && this.#options.mayWrite?.() === false) {
      throw new NodepoolError('cluster', 'this process may not write any more: it has lost its lease');
    }
  }

  /** @param refused the session whose credentials this request was refused with */
  #session(refused: Session | undefined): Promise<Session> {
    return refused === undefined ? this.#sessions.current() : this.#sessions.renewed(refused);
  }

  async #login(refused: Session | undefined, ends: number): Promise<Session> {
    const { access, clock, deadlineMs } = this.#options;
    const session = this.#session(refused);
    if (!deadlineMs) return session;
    const late = () => {
      const problem = `there are no credentials for user "${access.user.name}" after ${deadlineMs / 1000} s`;
      const next = 'log in with its plugin, or wait longer with --request-timeout';
      return new NodepoolError('cluster', problem, next, { isGeneral: true });
    };
    return within(clock, ends - clock.now(), session, late);
  }

  async #send(request: Request, session: Session, ends: number, mayReplay: boolean): Promise<Answer> {
    const { access, clock, log } = this.#options;
    const { agent } = session;
    const method = request.method ?? 'GET';
    const url = urlOf(this.#base, request);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers = this.#headers(request, session);
    if (body !== undefined) {
      headers['Content-Type'] = request.contentType ?? 'application/json';
      headers['Content-Length'] = Buffer.byteLength(body);
    }
    // As kubectl: the server compresses what is worth it, a list of nodes to a tenth.
    if (method === 'GET' && access.cluster.disableCompression === undefined) headers['Accept-Encoding'] = 'gzip';
    const start = clock.now();
    if (start >= ends) throw new DeadlineError();
    logRequest(log, headers, body);
    const deadlineMs = Number.isFinite(ends) ? ends - start : undefined;
    const { onBody, signal } = request;
    const unanswered = mayReplay ? this.#unanswered : undefined;
    const answering = exchange({ url, method, headers, body, agent, deadlineMs, clock, signal, unanswered, onBody });
    this.#count(
      method,
      url,
      answering.then(({ status }) => status),
    );
    const reply = await answering;
    const answer = toAnswer(reply);
    logAnswer(log, method, url, { ...answer, bytes: reply.bytes }, clock.now() - start);
    return answer;
  }

  /** The server, or the way to it, has not said a word on one connection for too long. */
  #distrust(session: Session): void {
    endIdleSockets(session.agent);
    for (const giveUp of [...this.#unanswered]) giveUp();
  }

  #count(method: string, { host }: URL, status: Promise<number | undefined>): void {
    const { onRequest } = this.#options;
    const tell = (code: string) => onRequest?.(code, method, host);
    status.then(
      code => tell(String(code)),
      () => tell('<error>'),
    );
  }

  #headers({ accept = 'application/json' }: Request, { credentials }: Session): http.OutgoingHttpHeaders {
    return { ...credentials.headers, Accept: accept, 'User-Agent': this.#options.userAgent };
  }

  /** Milliseconds; 0: none. */
  #deadlineOf({ deadlineMs: own }: Pick<Request, 'deadlineMs'>): number {
    const { deadlineMs = DEFAULT_DEADLINE_MS } = this.#options;
    return own === undefined ? deadlineMs : Math.min(own, deadlineMs || own);
  }

  #explain(error: unknown, deadlineMs: number, isWrite = false): NodepoolError {
    return connectionError(error, this.#options.access, deadlineMs, isWrite);
  }
}
