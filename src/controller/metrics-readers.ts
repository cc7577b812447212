/**
 * Decides who may read the metrics, as the filter of controller-runtime's metrics server does: a TokenReview returns
 * the user of the bearer token, and a SubjectAccessReview whether that user may get the path.
 */
import { createHash } from 'node:crypto';
import type { Clock } from './clock.ts';
import { createLimiter } from './limiter.ts';
import { type Log, messageOf } from './log.ts';
import { Lru } from './lru.ts';

/** The user as in the status of a TokenReview. */
export interface ReviewedUser {
  username: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface ReviewPort {
  /** The user of a bearer token; undefined if the server rejects the token. */
  userOf(token: string): Promise<ReviewedUser | undefined>;
  /** Whether the user may use the verb on a non-resource path, such as `get /metrics`. */
  mayAccess(user: ReviewedUser, verb: string, path: string): Promise<boolean>;
}

/** The response to a reader without permission. */
export interface ReaderRefusal {
  status: 401 | 403 | 500;
  body: string;
}

interface ReaderDecision {
  refusal: ReaderRefusal | undefined;
  countsMs: number;
}

interface CachedDecision {
  refusal: Promise<ReaderRefusal | undefined>;
  /** Clock time. */
  ends: number;
}

/** How long a decision is cached: a token or role that was removed stops working within this time. */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
const MAX_DECISIONS = 1_000;
/** Every client that reaches the port can send unknown tokens: their reviews must not delay the reconciler. */
const CONCURRENT_REVIEWS = 4;

const NO_TOKEN: ReaderRefusal = { status: 401, body: 'Unauthorized\n' };
const NO_ANSWER: ReaderRefusal = { status: 500, body: 'the API server did not decide\n' };

export class MetricsReaders {
  readonly #reviews: ReviewPort;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limit = createLimiter(CONCURRENT_REVIEWS);
  /** By hash: the tokens themselves are not stored. */
  readonly #decisions = new Lru<string, CachedDecision>(MAX_DECISIONS);
  #lastProblem = '';

  constructor(reviews: ReviewPort, clock: Clock, log: Log) {
    this.#reviews = reviews;
    this.#clock = clock;
    this.#log = log;
  }

  /** Undefined if the reader is allowed. Never rejects. @param authorization the request's Authorization header */
  async refusal(verb: string, path: string, authorization: string | undefined): Promise<ReaderRefusal | undefined> {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return NO_TOKEN;
    const key = createHash('sha256').update(`${verb} ${path} ${token}`).digest('base64');
    const known = this.#decisions.get(key);
    if (known !== undefined && this.#clock.now() < known.ends) return known.refusal;
    const deciding = this.#limit(() => this.#decide(verb, path, token));
    const decision: CachedDecision = {
      refusal: deciding.then(({ refusal }) => refusal),
      ends: Number.POSITIVE_INFINITY,
    };
    this.#decisions.set(key, decision);
    decision.ends = this.#clock.now() + (await deciding).countsMs;
    return decision.refusal;
  }

  async #decide(verb: string, path: string, token: string): Promise<ReaderDecision> {
    try {
      const refusal = await this.#review(verb, path, token);
      this.#lastProblem = '';
      return { refusal, countsMs: refusal === undefined ? ALLOWED_MS : REFUSED_MS };
    } catch (error) {
      const problem = messageOf(error);
      // Log once: otherwise every scrape would repeat the message.
      if (problem !== this.#lastProblem) this.#log('error', `${path}: cannot authorize any reader: ${problem}`);
      this.#lastProblem = problem;
      return { refusal: NO_ANSWER, countsMs: 0 };
    }
  }

  async #review(verb: string, path: string, token: string): Promise<ReaderRefusal | undefined> {
    const user = await this.#reviews.userOf(token);
    if (user === undefined) return NO_TOKEN;
    if (await this.#reviews.mayAccess(user, verb, path)) return undefined;
    return { status: 403, body: `User "${user.username}" cannot ${verb} path "${path}"\n` };
  }
}
