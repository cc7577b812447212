/**
 * Records events in the background.
 *
 * Guaranteed: event() neither waits nor throws. Events are aggregated (event-correlator.ts), written in order, and
 * retried after 429, 5xx and broken connections: 12 attempts with growing delays; client-go gives up at the first 429
 * or 500. A series whose count grows while it waits is written once. flush() waits for the rest.
 *
 * Not guaranteed: that every event is written. At most 1,000 series wait and further ones are dropped; events that the
 * server rejects are dropped. Each drop is logged.
 */
import { Backoff } from './backoff.ts';
import { type Clock, sleep } from './clock.ts';
import { EventCorrelator, type EventInput, type Series } from './event-correlator.ts';
import { type Log, messageOf } from './log.ts';

const MAX_WAITING = 1_000;
const MAX_ATTEMPTS = 12;

/** A series as it is written; with count 1 it is a single event. */
export interface RecordedEvent extends EventInput {
  /** Identifies the Event object: unique, and the same in a retry. */
  id: string;
  first: Date;
  last: Date;
  count: number;
}

export type SinkResult =
  | { kind: 'written' }
  /** Of patch: the Event does not exist (any more). */
  | { kind: 'missing' }
  /** The server will always reject it. */
  | { kind: 'refused'; message: string }
  /** Can be retried: 429, 5xx, no connection. */
  | { kind: 'failed'; message: string; retryAfterMs: number | undefined };

/** Writes Event objects. A throw counts as `failed`. */
export interface EventSink {
  /** `written` also when an Event with this id exists: an earlier response was lost. */
  create(event: RecordedEvent): Promise<SinkResult>;
  /** Updates count and last. */
  patch(event: RecordedEvent): Promise<SinkResult>;
}

interface RecorderOptions {
  sink: EventSink;
  clock: Clock;
  /** The time of day. */
  wall: () => Date;
  /** In [0, 1). */
  random: () => number;
  /** Returns a new string at each call that is valid in an object name. */
  newId: () => string;
  /** Also receives every event. */
  log: Log;
}

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #stop = new AbortController();
  /** Series to write, oldest first. A series waits at most once. */
  readonly #waiting = new Set<Series>();
  /** The Event object of each attempted series, and whether it is known to exist. */
  readonly #targets = new WeakMap<Series, { id: string; exists: boolean }>();
  /** Resolves when nothing waits; undefined then. */
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
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(series)) {
      this.#options.log('warning', `event ${reason} of ${regarding.kind} ${regarding.name} dropped: too many wait`);
      return;
    }
    this.#waiting.add(series);
    this.#sending ??= this.#send();
  }

  /** Waits until everything is written, at most `ms`. Returns false when events are left. */
  async flush(ms: number): Promise<boolean> {
    if (this.#sending === undefined) return true;
    const done = new AbortController();
    await Promise.race([this.#sending, sleep(this.#options.clock, ms, done.signal)]);
    done.abort();
    return this.#sending === undefined;
  }

  /** Drops the waiting events and all later ones. */
  stop(): void {
    this.#stop.abort();
    const left = this.#waiting.size;
    if (left > 0) this.#options.log('warning', `${left} events dropped: the end has come`);
    this.#waiting.clear();
  }

  async #send(): Promise<void> {
    // Lets the caller of event() continue first, so that its events are aggregated before the first write.
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
    for (let tries = 1; tries <= MAX_ATTEMPTS && !this.#stop.signal.aborted; tries++) {
      const result = await this.#attempt(series);
      if (result.kind === 'written') return;
      if (result.kind === 'missing') continue;
      problem = result.message;
      if (result.kind === 'refused') break;
      if (tries < MAX_ATTEMPTS) {
        await sleep(clock, Math.max(result.retryAfterMs ?? 0, backoff.next()), this.#stop.signal);
      }
    }
    log('warning', `event ${series.event.reason} of ${series.event.regarding.name} dropped: ${problem}`);
  }

  async #attempt(series: Series): Promise<SinkResult> {
    const { first, last, count } = series;
    const target = this.#targets.get(series) ?? { id: this.#options.newId(), exists: false };
    // Kept when the response is lost, so that the retry is for the same object.
    this.#targets.set(series, target);
    const event = { ...series.event, id: target.id, first, last, count };
    const result = await this.#call(target.exists ? 'patch' : 'create', event);
    if (result.kind === 'written') target.exists = true;
    if (result.kind === 'missing') this.#targets.delete(series);
    return result;
  }

  async #call(method: 'create' | 'patch', event: RecordedEvent): Promise<SinkResult> {
    try {
      return await this.#options.sink[method](event);
    } catch (error) {
      return { kind: 'failed', message: messageOf(error), retryAfterMs: undefined };
    }
  }
}
