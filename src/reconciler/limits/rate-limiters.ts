/** Rate limits for writes of one object: any write, and status writes in a watch. */
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
  /** Milliseconds until it may be written, or until it no longer counts against its pool. */
  ms: number;
}

type WriteVerdict =
  | { kind: 'free' }
  | ({ kind: 'throttled' } & ThrottledWrite)
  /** At the limit; call limited() with an error. @property isContested most writes repaired changes of others */
  | { kind: 'limit'; isContested: boolean };

interface ObjectWrites {
  /** Writes of the last minute, oldest first. */
  writes: { at: number; isRepair: boolean }[];
  lastAt: number;
  /** Number of consecutive writes that the server altered. */
  altered: number;
  throttle?: {
    error: NodepoolError;
    until: number;
    /** What was to be written; undefined if that does not matter. */
    pending: string | undefined;
  };
  /** Others change the node back: the error, until it stays unchanged. */
  contest?: NodepoolError;
}

/**
 * Rate limit for writes of one object, in most cases a node, so that two writers with different intents do not
 * overwrite each other at full speed:
 * - at most 10 writes a minute for each node, whatever the cause;
 * - a node that something else keeps changing back after that: one write a minute, until it stays unchanged for 10 s;
 * - a node whose writes the server alters: again after 1 s, 2 s, 4 s and so on, at most a minute, or when the desired
 *   write changes.
 *
 * Kept for each node that was written in the last two minutes. Not guaranteed: a limit across processes.
 */
export class WriteRateLimiter {
  readonly #clock: NowClock;
  /** By node UID, for other objects by kind and name; in the order of their last writes. */
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

  /** The server stored the write unchanged. */
  unaltered(uid: string): void {
    const entry = this.#objects.get(uid);
    if (entry !== undefined) entry.altered = 0;
  }

  /** The server altered the write. @param changes to be written now @returns milliseconds until the next attempt */
  altered(uid: string, changes: readonly Change[], error: NodepoolError): number {
    const entry = this.#objects.get(uid);
    const delay = Math.min(FIRST_DELAY_MS * 2 ** (entry?.altered ?? 0), WINDOW_MS);
    if (entry === undefined) return delay;
    entry.altered += 1;
    entry.throttle = { error, until: this.#clock.now() + delay, pending: textOf(changes) };
    return delay;
  }

  /** Sets the error that applies until the node may be written again. @returns milliseconds until then */
  limited(uid: string, error: NodepoolError, isContested: boolean): number {
    const entry = this.#objects.get(uid);
    if (entry === undefined) return 0;
    if (isContested) entry.contest ??= error;
    const since = isContested ? entry.lastAt : (entry.writes[0]?.at ?? entry.lastAt);
    entry.throttle = { error: entry.contest ?? error, until: since + WINDOW_MS, pending: undefined };
    return entry.throttle.until - this.#clock.now();
  }

  /** For a node that needs no write: the error if others kept changing it until a short while ago. */
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
  /** When the full burst is available again. */
  freeAt: number;
  /** metadata.generation of the last written status. */
  generation: number | undefined;
}

/**
 * Rate limit for status writes of one pool in `reconcile --watch`: a burst of 20, then one every 2 s. A kubelet can
 * change the inputs of the status at any rate, and every write goes to all watchers of pools. Nothing is lost: a
 * throttled pool is reconciled again after the delay. The first status of a generation is never throttled.
 *
 * Not guaranteed: a limit across processes.
 */
export class StatusRateLimiter {
  readonly #clock: NowClock;
  /** In the order of their last writes. */
  readonly #entries = new Map<string, StatusWrites>();

  constructor(clock: NowClock) {
    this.#clock = clock;
  }

  /** Milliseconds until the status may be written; 0 means now. */
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
