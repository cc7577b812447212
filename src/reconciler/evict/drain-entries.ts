/** State of the nodes whose pods are evicted: the time of the next poll, and observations. */
import type { NowClock } from '../../controller/clock.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import type { DrainPlan } from '../../nodepool/plan/plan.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { type DrainState, WriteError } from '../outcome.ts';
import { type BlockedPod, type Evictor, RETRY_MS } from './evictor.ts';

/** Delay between two polls while pods terminate. */
const POLL_MS = 2_000;
/** Delay after an error that only another person or program can fix. */
const PERMANENT_MS = 30_000;
/** Maximum number of attempts to evict returned pods in a row; all but the last were interrupted. */
const MAX_ROWS = 3;
/** During this time, no pod that tolerates the stand-in is evicted. Times are truncated to seconds. */
const SEEN_MS = 2_000;
const KEPT_MS = 10 * 60_000;
/** A pod that is blocked for this time is reported by an Event. */
const STUCK_MS = 30_000;

export interface NodeDrain {
  uid: string;
  taints: string;
  /** When this process first saw the stand-in. */
  since: number;
  pollAt: number;
  /** Number of pods left at the last poll. */
  pods: number;
  evictor: Evictor;
  /** By owner: UIDs of its pods on the node up to when the first of them was evicted. */
  owners: Map<string, Set<string>>;
  /** UIDs of the pods that existed before schedulers had seen the stand-in. */
  first: Set<string>;
  /** How many of those were evicted, and how many of owners that came later. */
  firstEvictions: number;
  lateEvictions: number;
  /** Milliseconds since 1970, by the record, but at most when this process first saw it; NaN: not known. */
  begunAt: number;
  /** The last list was made after schedulers had seen the stand-in. */
  isSettled: boolean;
  /** Remaining attempts to evict returned pods in a row. Used more than once only after an interruption. */
  rowsLeft: number;
  /** A budget has refused the rest of a row. */
  isRefused: boolean;
  /** Error of the last poll, or of the write after it. */
  error?: NodepoolError;
}

export class DrainEntries {
  readonly #clock: NowClock;
  readonly #serverTime: () => Date;
  readonly #newEvictor: (node: string) => Evictor;
  /** By node name. */
  readonly #entries = new Map<string, NodeDrain>();

  constructor(clock: NowClock, serverTime: () => Date, newEvictor: (node: string) => Evictor) {
    [this.#clock, this.#serverTime, this.#newEvictor] = [clock, serverTime, newEvictor];
  }

  /** Starts again for a new node of that name, and for other taints. */
  of({ node: { name, uid }, drain }: DrainPlan): NodeDrain {
    const taints = drain.taints.map(formatTaint).join();
    const known = this.#entries.get(name);
    if (known?.uid === uid && known.taints === taints) return known;
    const now = this.#clock.now();
    // Entries of deleted nodes.
    for (const [node, { pollAt }] of this.#entries) if (now - pollAt > KEPT_MS) this.#entries.delete(node);
    const entry = {
      uid,
      taints,
      since: now,
      pollAt: now,
      pods: 0,
      evictor: this.#newEvictor(name),
      owners: new Map(),
      first: new Set<string>(),
      firstEvictions: 0,
      lateEvictions: 0,
      begunAt: begunAt(Date.parse(drain.since ?? ''), this.#serverTime().getTime()),
      isSettled: false,
      rowsLeft: MAX_ROWS,
      isRefused: false,
    };
    this.#entries.set(name, entry);
    return entry;
  }

  /** No pod was left, but setting the taints failed: until the next poll, NodeDrainer.poll() throws the error. */
  failed(node: string, error: NodepoolError): void {
    const entry = this.#entries.get(node);
    if (entry !== undefined && entry.pollAt <= this.#clock.now()) this.fail(entry, error);
  }

  /** Records a failed poll, or a failed write after it. Returns the milliseconds until the next poll. */
  fail(entry: NodeDrain, error: NodepoolError): number {
    const known = error instanceof WriteError ? error.retryAfterMs : undefined;
    const ms = Math.max(known ?? 0, error.isPermanent ? PERMANENT_MS : RETRY_MS);
    Object.assign(entry, { error, pollAt: this.#clock.now() + ms });
    return ms;
  }

  /** State of the nodes with a drain. @param nodes their names, sorted */
  stateOf(nodes: readonly string[]): DrainState {
    const now = this.#clock.now();
    const known = nodes.flatMap(node => {
      const entry = this.#entries.get(node);
      return entry === undefined || entry.error !== undefined ? [] : [{ node, ...entry }];
    });
    const [first] = known.flatMap(({ node, evictor }) => sentences(node, [...evictor.blockedPods.values()]));
    return {
      nodes: [...nodes],
      pods: known.reduce((sum, { pods }) => sum + pods, 0),
      blocked: first,
      afterMs: known.length === 0 ? undefined : Math.max(0, Math.min(...known.map(({ pollAt }) => pollAt)) - now),
    };
  }

  /** Sentences about pods of these nodes that have been blocked for long, each returned once. */
  takeStuck(nodes: readonly string[]): string[] {
    const now = this.#clock.now();
    return nodes.flatMap(node => {
      const stuck = [...(this.#entries.get(node)?.evictor.blockedPods.values() ?? [])].filter(
        ({ since, isReported }) => !isReported && now - since >= STUCK_MS,
      );
      for (const blocked of stuck) blocked.isReported = true;
      return sentences(node, stuck);
    });
  }

  has(node: string): boolean {
    return this.#entries.has(node);
  }

  /** The node no longer waits for taints. */
  forget(node: string): void {
    this.#entries.delete(node);
  }
}

/** NaN if this process saw the start: it knows whose pods were evicted. A time in the future counts as now. */
function begunAt(since: number, now: number): number {
  return now >= since && now - since < SEEN_MS ? Number.NaN : Math.min(since, now);
}

/** Milliseconds, plus up to a quarter, so that nodes do not stay in step. @param random in [0, 1) */
export function pollDelayMs({ pods, evictor }: NodeDrain, random = Math.random()): number {
  const { evicted, blockedPods } = evictor;
  const isRefused = evicted.size === 0 && blockedPods.size > 0 && blockedPods.size >= pods;
  return (isRefused ? Math.max(POLL_MS, evictor.blockedMs()) : POLL_MS) * (1 + random / 4);
}

function sentences(node: string, blocked: readonly BlockedPod[]): string[] {
  return blocked
    .toSorted((a, b) => (a.pod < b.pod ? -1 : 1))
    .map(({ pod, why }) => `pod ${pod} on node ${node} waits for ${why}`);
}
