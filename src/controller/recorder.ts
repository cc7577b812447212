/**
 * Records events in the background.
 *
 * Guaranteed: event() neither waits nor throws. Events are aggregated (EventCorrelator), written in order, and retried
 * after 429, 5xx and broken connections: 12 attempts with growing delays; client-go gives up at the first 429 or 500. A
 * series whose count grows while it waits is written once. flush() waits for the remaining ones.
 *
 * Not guaranteed: that every event is written. At most 1,000 series wait and further ones are dropped; events that the
 * server rejects are dropped. Each drop is logged.
 */
import { Backoff } from './backoff.ts';
import { type Clock, sleep } from './clock.ts';
import { type Log, messageOf } from './log.ts';
import { Lru } from './lru.ts';

const MAX_WAITING = 1_000;
const MAX_ATTEMPTS = 12;

/** A series as it is written. A series with count 1 is a single event. */
export interface RecordedEvent extends EventInput {
  /** Identifies the Event object: unique, and unchanged in a retry. */
  id: string;
  first: Date;
  last: Date;
  count: number;
}

export type SinkResult =
  | { kind: 'written' }
  /** Result of patch only: the Event does not exist (any more). */
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
  readonly #waiting = new Set<EventSeries>();
  /** The Event object of each series with a write attempt, and whether it is known to exist. */
  readonly #targets = new WeakMap<EventSeries, { id: string; exists: boolean }>();
  /** Resolves when nothing waits; then becomes undefined. */
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
      this.#options.log(
        'debug',
        `event ${reason} of ${regarding.kind} ${regarding.name} dropped: too many of this kind`,
      );
      return;
    }
    if (this.#stop.signal.aborted) return;
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(series)) {
      this.#options.log('warning', `event ${reason} of ${regarding.kind} ${regarding.name} dropped: queue full`);
      return;
    }
    this.#waiting.add(series);
    this.#sending ??= this.#send();
  }

  /** Waits until everything is written, at most `ms`. Returns false if some events are not written. */
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
    const waiting = this.#waiting.size;
    if (waiting > 0) this.#options.log('warning', `${waiting} events dropped: shutting down`);
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

  async #write(series: EventSeries): Promise<void> {
    const { clock, random, log } = this.#options;
    const backoff = new Backoff({ clock, random });
    let problem = 'its Event was deleted repeatedly';
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

  async #attempt(series: EventSeries): Promise<SinkResult> {
    const { first, last, count } = series;
    const target = this.#targets.get(series) ?? { id: this.#options.newId(), exists: false };
    // Kept if the response is lost, so that the retry writes the same object.
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

// Aggregates events into Event objects like client-go (tools/record/events_cache.go) with the same numbers. One
// difference: the tenth similar event still gets its own Event.
// - An identical event (object, type, reason, action and note) within 600 s increments the count of the existing Event.
// - Of events that differ only in the note, ten get their own Event. Further ones within 600 s share one Event, which
// has the note of the first of them and a count.
// - For one object, 25 events are accepted at once, then one in 300 s; the others are dropped.
//
// Not guaranteed: it remembers only the 4096 most recently used kinds of events and objects.

const MAX_SIMILAR = 10;
const WINDOW_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_CACHED = 4096;
const COMBINED = '(combined from similar events): ';

export interface EventInput {
  regarding: { apiVersion: string; kind: string; namespace?: string; name: string; uid?: string };
  type: 'Normal' | 'Warning';
  /** CamelCase. */
  reason: string;
  /** What the controller did, in CamelCase. */
  action: string;
  note: string;
}

/** One Event object and its count. */
export interface EventSeries {
  readonly event: EventInput;
  readonly first: Date;
  last: Date;
  count: number;
}

/** Events that differ only in the note. */
interface SimilarEvents {
  /** Notes that got their own Event in this window. */
  notes: Set<string>;
  /** Clock time. */
  lastAt: number;
}

/** How many more events one object may have. */
interface ObjectBucket {
  tokens: number;
  /** Clock time. */
  filledAt: number;
}

interface CorrelatorOptions {
  clock: Clock;
  /** The time of day. */
  wall: () => Date;
}

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #wall: () => Date;
  readonly #groups = new Lru<string, SimilarEvents>(MAX_CACHED);
  readonly #series = new Lru<string, { series: EventSeries; lastAt: number }>(MAX_CACHED);
  readonly #buckets = new Lru<string, ObjectBucket>(MAX_CACHED);

  constructor({ clock, wall }: CorrelatorOptions) {
    this.#clock = clock;
    this.#wall = wall;
  }

  /** The series that counts the event; undefined if the event is dropped. */
  observe(event: EventInput): EventSeries | undefined {
    const { regarding, type, reason, action, note } = event;
    const object = [regarding.apiVersion, regarding.kind, regarding.namespace, regarding.name, regarding.uid];
    if (!this.#takeToken(JSON.stringify(object))) return undefined;
    const group = JSON.stringify([...object, type, reason, action]);
    if (this.#exceedsSimilar(group, note)) return this.#count(group, { ...event, note: COMBINED + note });
    return this.#count(JSON.stringify([group, note]), event);
  }

  #exceedsSimilar(key: string, note: string): boolean {
    const now = this.#clock.now();
    let group = this.#groups.get(key);
    if (group === undefined || now - group.lastAt > WINDOW_MS) group = { notes: new Set(), lastAt: now };
    group.lastAt = now;
    this.#groups.set(key, group);
    if (group.notes.has(note)) return false;
    if (group.notes.size >= MAX_SIMILAR) return true;
    group.notes.add(note);
    return false;
  }

  #count(key: string, event: EventInput): EventSeries {
    const [now, date] = [this.#clock.now(), this.#wall()];
    const known = this.#series.get(key);
    if (known === undefined || now - known.lastAt > WINDOW_MS) {
      const series = { event, first: date, last: date, count: 1 };
      this.#series.set(key, { series, lastAt: now });
      return series;
    }
    known.lastAt = now;
    known.series.last = date;
    known.series.count += 1;
    return known.series;
  }

  #takeToken(object: string): boolean {
    const now = this.#clock.now();
    const { tokens, filledAt } = this.#buckets.get(object) ?? { tokens: BURST, filledAt: now };
    const filled = Math.min(BURST, tokens + (now - filledAt) / REFILL_MS);
    const allowed = filled >= 1;
    this.#buckets.set(object, { tokens: allowed ? filled - 1 : filled, filledAt: now });
    return allowed;
  }
}
