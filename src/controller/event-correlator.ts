/**
 * Aggregates events into Event objects like client-go (tools/record/events_cache.go) with the same numbers. One
 * difference: the tenth similar event still gets its own Event.
 * - An identical event (object, type, reason, action and note) within 600 s increments the count of the existing Event.
 * - Of events that differ only in the note, ten get their own Event. Further ones within 600 s share one Event, which
 *   has the note of the first of them and a count.
 * - For one object, 25 events are accepted at once, then one in 300 s; the others are dropped.
 *
 * Not guaranteed: it remembers only the 4096 most recently used kinds of events and objects.
 */
import type { Clock } from './clock.ts';
import { Lru } from './lru.ts';

const MAX_SIMILAR = 10;
const WINDOW_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_CACHED = 4096;
const COMBINED = '(combined from similar events): ';

interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
}

export interface EventInput {
  regarding: ObjectReference;
  type: 'Normal' | 'Warning';
  /** CamelCase. */
  reason: string;
  /** What the controller did, in CamelCase. */
  action: string;
  /** Human-readable. */
  note: string;
}

/** One Event object and its count. */
export interface Series {
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

interface Bucket {
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
  readonly #series = new Lru<string, { series: Series; lastAt: number }>(MAX_CACHED);
  readonly #buckets = new Lru<string, Bucket>(MAX_CACHED);

  constructor({ clock, wall }: CorrelatorOptions) {
    this.#clock = clock;
    this.#wall = wall;
  }

  /** The series that counts the event; undefined when the event is dropped. */
  observe(event: EventInput): Series | undefined {
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

  #count(key: string, event: EventInput): Series {
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
