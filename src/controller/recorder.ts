/**
 * Tells what happened as Event objects, beside the work and never in its way.
 *
 * Guaranteed: event() does not wait and does not throw. Events are folded (event-correlator.ts), written in the order
 * they came, and again after 429, 5xx and broken connections: 12 times with growing delays, as client-go, which gives
 * up at the first 429 or 500. A series that counted up while it waited is written once. flush() waits for the rest.
 *
 * Not guaranteed: that every event arrives. At most 1,000 series wait, further ones are dropped; what the server
 * refuses is dropped; each drop is logged.
 */
import { Backoff } from './backoff.ts';
import { type Clock, sleep } from './clock.ts';
import { EventCorrelator, type EventInput, type Series } from './event-correlator.ts';
import { type Log, messageOf } from './log.ts';

const MOST_WAITING = 1_000;
const MOST_TRIES = 12;

/** What is written of a series; with a count of 1 it is a single event. */
export interface RecordedEvent extends EventInput {
  /** Distinguishes the Event object: unique, and the same when it is sent again. */
  id: string;
  first: Date;
  last: Date;
  count: number;
}

export type SinkResult =
  | { kind: 'written' }
  /** Of patch: there is no such Event (any more). */
  | { kind: 'missing' }
  /** The server will never take it. */
  | { kind: 'refused'; message: string }
  /** Perhaps later: 429, 5xx, no connection. */
  | { kind: 'failed'; message: string; retryAfterMs: number | undefined };

/** Writes Event objects. A throw counts as `failed`. */
export interface EventSink {
  /** An Event of that id which is there already is `written`: an answer was lost. */
  create(event: RecordedEvent): Promise<SinkResult>;
  /** Brings count and last up to date. */
  patch(event: RecordedEvent): Promise<SinkResult>;
}

export interface RecorderOptions {
  sink: EventSink;
  clock: Clock;
  /** The time of day. */
  wall: () => Date;
  /** From 0 up to, not including, 1. */
  random: () => number;
  /** A new text at each call, fit for an object's name. */
  newId: () => string;
  /** Gets every event too. */
  log: Log;
}

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #stop = new AbortController();
  /** What is to be written, the oldest first. A series waits at most once. */
  readonly #waiting = new Set<Series>();
  /** The Event object of each series that was tried, and whether it is known to be on the server. */
  readonly #targets = new WeakMap<Series, { id: string; exists: boolean }>();
  /** Ends when nothing waits; undefined then. */
  #sending: Promise<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#correlator = new EventCorrelator(options);
  }

  event(input: EventInput): void {
    const { type, reason, regarding, note } = input;
    const { kind, name } = regarding;
    this.#options.log(type === 'Warning' ? 'warning' : 'info', `event ${type} ${reason} of ${kind} ${name}: ${note}`, {
      type,
      reason,
      kind,
      name,
      note,
    });
    const series = this.#correlator.observe(input);
    if (series === undefined) {
      this.#options.log('debug', `event ${reason} of ${regarding.kind} ${regarding.name} dropped: too many of it`);
      return;
    }
    if (this.#stop.signal.aborted) return;
    if (this.#waiting.size >= MOST_WAITING && !this.#waiting.has(series)) {
      this.#options.log('warning', `event ${reason} of ${regarding.kind} ${regarding.name} dropped: too many wait`);
      return;
    }
    this.#waiting.add(series);
    this.#sending ??= this.#send();
  }

  /** Waits until everything is written, `ms` at most. False when something is left. */
  async flush(ms: number): Promise<boolean> {
    if (this.#sending === undefined) return true;
    const done = new AbortController();
    await Promise.race([this.#sending, sleep(this.#options.clock, ms, done.signal)]);
    done.abort();
    return this.#sending === undefined;
  }

  /** What waits is dropped, and all that comes. */
  stop(): void {
    this.#stop.abort();
    const left = this.#waiting.size;
    if (left > 0) this.#options.log('warning', `${left} events dropped: the end has come`);
    this.#waiting.clear();
  }

  async #send(): Promise<void> {
    // The caller of event() goes on first: what it tells in one go is folded before it is written.
    await Promise.resolve();
    for (const series of this.#waiting) {
      this.#waiting.delete(series);
      await this.#write(series);
    }
    this.#sending = undefined;
  }

  async #write(series: Series): Promise<void> {
    const { clock, random, log } = this.#options;
    const backoff = new Backoff({ clock, random });
    let problem = 'its Event object vanishes again and again';
    for (let tries = 1; tries <= MOST_TRIES && !this.#stop.signal.aborted; tries++) {
      const result = await this.#attempt(series);
      if (result.kind === 'written') return;
      if (result.kind === 'missing') continue;
      problem = result.message;
      if (result.kind === 'refused') break;
      if (tries < MOST_TRIES) {
        await sleep(clock, Math.max(result.retryAfterMs ?? 0, backoff.next()), this.#stop.signal);
      }
    }
    log('warning', `event ${series.event.reason} of ${series.event.regarding.name} dropped: ${problem}`);
  }

  async #attempt(series: Series): Promise<SinkResult> {
    const { first, last, count } = series;
    const target = this.#targets.get(series) ?? { id: this.#options.newId(), exists: false };
    // Kept when the answer is lost: the next try is for the same object.
    this.#targets.set(series, target);
    const event = { ...series.event, id: target.id, first, last, count };
    const result = await this.#call(target.exists ? 'patch' : 'create', event);
    if (result.kind === 'written') target.exists = true;
    if (result.kind === 'missing') this.#targets.delete(series);
    return result;
  }

  async #call(verb: 'create' | 'patch', event: RecordedEvent): Promise<SinkResult> {
    try {
      return await this.#options.sink[verb](event);
    } catch (error) {
      return { kind: 'failed', message: messageOf(error), retryAfterMs: undefined };
    }
  }
}
