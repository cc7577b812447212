/** What is remembered of the nodes whose pods are evicted: when each is polled again, and what was seen. */
import type { NowClock } from '../../controller/clock.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import type { DrainPlan } from '../../nodepool/plan/plan.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { type DrainState, WriteError } from '../outcome.ts';
import { type BlockedPod, type Evictor, RETRY_MS } from './evictor.ts';

/** Between two polls while pods terminate. */
const POLL_MS = 2_000;
/** After an error that only somebody else can mend. */
const PERMANENT_MS = 30_000;
/** Rows of evictions, of which all but the last one were interrupted. */
const MAX_ROWS = 3;
/** Before that, no pod that tolerates the stand-in is evicted. The time is cut to whole seconds. */
const SEEN_MS = 2_000;
const KEPT_MS = 10 * 60_000;
/** A pod that is blocked for so long is worth an Event. */
const STUCK_MS = 30_000;

export interface NodeDrain {
  uid: string;
  taints: string;
  /** When the stand-in was seen first. */
  since: number;
  pollAt: number;
  /** Pods that were left at the last poll. */
  pods: number;
  evictor: Evictor;
  /** UIDs of the pods that each owner had on the node before, or when, the first of them was evicted. */
  owners: Map<string, Set<string>>;
  /** UIDs of the pods that were there before schedulers had seen the stand-in. */
  first: Set<string>;
  /** How many of those were evicted, and how many of owners that came later. */
  firstEvictions: number;
  lateEvictions: number;
  /** Milliseconds since 1970, by the record, but not ahead of when this process saw it first; NaN: not known. */
  begunAt: number;
  /** The last list was made when schedulers had seen the stand-in. */
  isSettled: boolean;
  /** How many times pods that came back may still be evicted in a row. More than once only where a row was interrupted. */
  rowsLeft: number;
  /** A budget has refused the rest of a row. */
  isRefused: boolean;
  /** Of the last poll, or of the write after it. */
  error?: NodepoolError;
}

export class DrainEntries {
  readonly #clock: NowClock;
  readonly #serverTime: () => Date;
  readonly #newEvictor: (node: string) => Evictor;
  /** By name of the node. */
  readonly #entries = new Map<string, NodeDrain>();

  constructor(clock: NowClock, serverTime: () => Date, newEvictor: (node: string) => Evictor) {
    [this.#clock, this.#serverTime, this.#newEvictor] = [clock, serverTime, newEvictor];
  }

  /** Made again for another node of the name, and for other taints. */
  of({ node: { name, uid }, drain }: DrainPlan): NodeDrain {
    const taints = drain.taints.map(formatTaint).join();
    const known = this.#entries.get(name);
    if (known?.uid === uid && known.taints === taints) return known;
    const now = this.#clock.now();
    // Of nodes that were deleted meanwhile.
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

  /** No pod was left, and the taints could not be written: until the next poll, NodeDrainer.poll() throws the error. */
  failed(node: string, error: NodepoolError): void {
    const entry = this.#entries.get(node);
    if (entry !== undefined && entry.pollAt <= this.#clock.now()) this.fail(entry, error);
  }

  /** The poll, or the write after it, has failed. Returns the milliseconds until the next poll. */
  fail(entry: NodeDrain, error: NodepoolError): number {
    const known = error instanceof WriteError ? error.retryAfterMs : undefined;
    const ms = Math.max(known ?? 0, error.isPermanent ? PERMANENT_MS : RETRY_MS);
    Object.assign(entry, { error, pollAt: this.#clock.now() + ms });
    return ms;
  }

  /** Of nodes with a drain. @param nodes their names, sorted */
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

  /** Sentences about pods of these nodes that are blocked for long, each once. */
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

  /** The node waits for no taint any more. */
  forget(node: string): void {
    this.#entries.delete(node);
  }
}

/** NaN where this process saw the drain begin: it knows whose pods were evicted. A time ahead of the server's counts as now. */
function begunAt(since: number, now: number): number {
  return now >= since && now - since < SEEN_MS ? Number.NaN : Math.min(since, now);
}

/** Milliseconds, up to a quarter more, so that nodes do not stay in step. @param random in [0, 1) */
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
