/** Rate limits of writes of one object: of any write, and of status writes in a watch. */
import type { NowClock } from '../../controller/clock.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import type { Change } from '../../nodepool/plan/plan.ts';
import type { ObjectMeta } from '../../nodepool/types.ts';

export const MAX_WRITES = 10;
const WINDOW_MS = 60_000;
/** A node that stays unchanged for this long is no longer contested. */
const QUIET_MS = 10_000;
const FIRST_DELAY_MS = 1_000;
const KEPT_MS = 2 * WINDOW_MS;

export interface ThrottledWrite {
  error: NodepoolError;
  /** Milliseconds until it may be written, or is no longer counted against its pool. */
  ms: number;
}

type WriteVerdict =
  | { kind: 'free' }
  | ({ kind: 'throttled' } & ThrottledWrite)
  /** The limit is reached; the caller passes the error to limited(). @property isContested most of the writes repaired what others changed */
  | { kind: 'limit'; isContested: boolean };

interface ObjectWrites {
  /** Of the last minute, the oldest first. */
  writes: { at: number; isRepair: boolean }[];
  lastAt: number;
  /** Writes in a row that the server altered. */
  altered: number;
  throttle?: {
    error: NodepoolError;
    until: number;
    /** What was to be written; undefined where that does not matter. */
    pending: string | undefined;
  };
  /** Others change the node back: why, until it stays as it is. */
  contest?: NodepoolError;
}

/**
 * Rate limit of writes of one object, in most cases a node, so that two writers with different intents do not overwrite each other
 * as fast as they can:
 * - at most 10 writes a minute for each node, whatever the cause;
 * - a node that something else keeps changing back after that: one write a minute, until it stays as it is for 10 s;
 * - a node whose writes the server alters: again after 1 s, 2 s, 4 s and so on, at most a minute, or when something else
 *   is to be written.
 *
 * Kept for each node that was written in the last two minutes. Not guaranteed: a bound over several processes.
 */
export class WriteRateLimiter {
  readonly #clock: NowClock;
  /** By UID, of other objects than nodes by what they are and their name; in the order of their last writes. */
  readonly #objects = new Map<string, ObjectWrites>();

  constructor(clock: NowClock) {
    this.#clock = clock;
  }

  /** Whether the node may be written now. */
  check(uid: string, changes: readonly Change[]): WriteVerdict {
    const entry = this.#objects.get(uid);
    if (entry === undefined) return { kind: 'free' };
    const now = this.#clock.now();
    const { throttle } = entry;
    if (
      throttle !== undefined &&
      now < throttle.until &&
      (throttle.pending === undefined || throttle.pending === textOf(changes))
    ) {
      return { kind: 'throttled', error: throttle.error, ms: throttle.until - now };
    }
    entry.writes = entry.writes.filter(({ at }) => now - at < WINDOW_MS);
    const limit = entry.contest === undefined ? MAX_WRITES : 1;
    if (entry.writes.length < limit) return { kind: 'free' };
    const repairs = entry.writes.filter(({ isRepair }) => isRepair).length;
    return { kind: 'limit', isContested: entry.contest !== undefined || repairs > MAX_WRITES / 2 };
  }

  /** The server accepted a write. */
  written(uid: string, changes: readonly Change[]): void {
    const now = this.#clock.now();
    const entry = this.#objects.get(uid) ?? { writes: [], lastAt: now, altered: 0 };
    const isRepair = changes.some(({ reason }) => reason === 'drift' || reason === 'unmanaged');
    entry.writes = [...entry.writes.filter(({ at }) => now - at < WINDOW_MS), { at: now, isRepair }];
    entry.lastAt = now;
    delete entry.throttle;
    this.#objects.delete(uid);
    this.#objects.set(uid, entry);
    for (const [oldest, { lastAt }] of this.#objects) {
      if (now - lastAt < KEPT_MS) break;
      this.#objects.delete(oldest);
    }
  }

  /** The server stored what was sent. */
  unaltered(uid: string): void {
    const entry = this.#objects.get(uid);
    if (entry !== undefined) entry.altered = 0;
  }

  /** The server stored something else. @param changes what is to be written now @returns milliseconds until the next attempt */
  altered(uid: string, changes: readonly Change[], error: NodepoolError): number {
    const entry = this.#objects.get(uid);
    const delay = Math.min(FIRST_DELAY_MS * 2 ** (entry?.altered ?? 0), WINDOW_MS);
    if (entry === undefined) return delay;
    entry.altered += 1;
    entry.throttle = { error, until: this.#clock.now() + delay, pending: textOf(changes) };
    return delay;
  }

  /** Sets why the limit was reached: the error until the node may be written again. @returns milliseconds until then */
  limited(uid: string, error: NodepoolError, isContested: boolean): number {
    const entry = this.#objects.get(uid);
    if (entry === undefined) return 0;
    if (isContested) entry.contest ??= error;
    const since = isContested ? entry.lastAt : (entry.writes[0]?.at ?? entry.lastAt);
    entry.throttle = { error: entry.contest ?? error, until: since + WINDOW_MS, pending: undefined };
    return entry.throttle.until - this.#clock.now();
  }

  /** For a node that needs no write: the error while others have kept changing it until a short while ago. */
  contested(uid: string): ThrottledWrite | undefined {
    const entry = this.#objects.get(uid);
    if (entry?.contest === undefined) return undefined;
    const ms = entry.lastAt + QUIET_MS - this.#clock.now();
    if (ms > 0) return { error: entry.contest, ms };
    delete entry.contest;
    return undefined;
  }
}

function textOf(changes: readonly Change[]): string {
  return JSON.stringify(changes.map(({ kind, key, effect, to }) => [kind, key, effect, to]));
}

const BURST = 20;
const INTERVAL_MS = 2_000;

interface StatusWrites {
  /** When the whole burst is available again. */
  freeAt: number;
  /** metadata.generation of the status that was written last. */
  generation: number | undefined;
}

/**
 * Rate limit of status writes of one pool in `reconcile --watch`: a burst of 20, then one every 2 s. A kubelet can change
 * what the status is computed from at any rate, and every write goes to all watchers of pools. Nothing is lost: a pool that
 * is throttled is reconciled again after the delay. The first status of a generation is never throttled.
 *
 * Not guaranteed: a bound over several processes.
 */
export class StatusRateLimiter {
  readonly #clock: NowClock;
  /** In the order of their last writes. */
  readonly #entries = new Map<string, StatusWrites>();

  constructor(clock: NowClock) {
    this.#clock = clock;
  }

  /** Milliseconds until the status may be written; 0: now. */
  wait(pool: ObjectMeta): number {
    const entry = this.#entries.get(keyOf(pool));
    if (entry === undefined || entry.generation !== pool.generation) return 0;
    return Math.max(0, entry.freeAt - this.#clock.now() - (BURST - 1) * INTERVAL_MS);
  }

  /** The server accepted a write. */
  written(pool: ObjectMeta): void {
    const [key, now] = [keyOf(pool), this.#clock.now()];
    const freeAt = Math.max(this.#entries.get(key)?.freeAt ?? now, now) + INTERVAL_MS;
    this.#entries.delete(key);
    this.#entries.set(key, { freeAt, generation: pool.generation });
    for (const [oldest, entry] of this.#entries) {
      if (entry.freeAt > now) break;
      this.#entries.delete(oldest);
    }
  }
}

function keyOf({ name, uid }: ObjectMeta): string {
  return `${name} ${uid}`;
}
