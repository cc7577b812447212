/**
 * `reconcile --wait`: one-shot runs, one after the other, until each pool is done or stopped. A rollout makes its next
 * step as soon as it may, and evictions that a budget blocks are waited for. Failed reads and writes are retried,
 * unless a retry cannot help. After a timeout or Ctrl-C, the next `reconcile` continues.
 */
import { EXIT, showError, showNote } from '../../../cli/errors.ts';
import type { Io } from '../../../cli/io.ts';
import { type Clock, sleep } from '../../../controller/clock.ts';
import { DeclinedError, NodepoolError } from '../../../nodepool/errors.ts';
import { defined } from '../../../nodepool/json.ts';
import { isPaused } from '../../../nodepool/rollout/rollout.ts';
import { plural } from '../../../nodepool/text.ts';
import { isRepair } from '../../../reconciler/limits/contested-keys.ts';
import { mergedOutcome, nextReconcile } from '../../../reconciler/outcome.ts';
import { differing, nodePlan } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import type { AgreedProposal, EarlierWrite } from '../consent/consent.ts';
import { rolloutState } from '../rollout-state.ts';
import { movesOf, type PoolResult, type PoolSummary, summariesOf } from './apply.ts';
import { isInterrupted } from './interrupted.ts';
import type { ProposedReconcile } from './propose.ts';

type Agreed = AgreedProposal<ProposedReconcile>;

export interface UntilDone {
  limit: Limit;
  /** What was already approved. */
  first: Agreed;
  /** Reads and plans again, and asks about what was not approved; undefined: the user declined. */
  again: (pools: readonly string[], written: EarlierWrite | undefined) => Promise<Agreed | undefined>;
  run: (agreed: Agreed, signal: AbortSignal) => Promise<PoolResult[]>;
  clock: Clock;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  io: Io;
  isQuiet: boolean;
}

export interface WaitEnd {
  summaries: PoolSummary[];
  /** A pool still has nodes to update, which a paused pool prevents. */
  leavesPaused: boolean;
  /** Undefined: derived from the summaries. */
  exit?: number;
}

/** If it is unknown when the next step is due, and after a failure. */
const POLL_MS = 5_000;
/** Short enough to notice a node that becomes NotReady. */
const MAX_PAUSE_MS = 30_000;
/** Unless a rollout step was made. */
const MIN_PAUSE_MS = 1_000;

type PoolEnd = 'done' | 'failed' | 'paused' | { waitsMs: number; text: string };

/** A timeout that pauses while the user is asked. */
export class Limit {
  readonly ms: number;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #leftMs: number;
  #since: number | undefined;
  #cancel = () => {};
  #isEnded = false;

  /** @param ms 0: no limit */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.ms = ms;
    this.#leftMs = ms;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  start(): void {
    if (this.ms === 0 || this.#isEnded) return;
    this.#since = this.#clock.now();
    this.#cancel = this.#clock.after(this.#leftMs, () => this.#over.abort());
  }

  stop(): void {
    if (this.#since === undefined) return;
    this.#cancel();
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.now() - this.#since));
    this.#since = undefined;
  }

  /** Final: the timer would keep the process alive after a cancelled question. */
  end(): void {
    this.stop();
    this.#isEnded = true;
  }

  async aside<T>(work: () => Promise<T>): Promise<T> {
    const runs = this.#since !== undefined;
    this.stop();
    try {
      return await work();
    } finally {
      if (runs) this.start();
    }
  }
}

/** Throws only errors of this program. */
export async function untilDone(options: UntilDone): Promise<WaitEnd> {
  const { limit, first, again, run, clock, signal, io, isQuiet } = options;
  const over = AbortSignal.any([signal, limit.signal]);
  const all = new Map<string, PoolResult>();
  const said = new Map<string, string>();
  let leavesPaused = false;
  /** @param isReason whether the text explains the exit code */
  const tell = (pool: string, text: string, isReason = false) => {
    if ((isReason || !isQuiet) && said.get(pool) !== text) showNote(io, `${pool}: ${text}`);
    said.set(pool, text);
  };
  const ended = (exit?: number): WaitEnd => {
    const summaries = summariesOf([...all.values()]);
    return { summaries, leavesPaused, ...defined({ exit }) };
  };
  const interrupted = (): WaitEnd => {
    // The summaries report what a run stopped between two writes has left.
    if (isInterrupted([...all.values()])) return ended();
    showNote(io, `interrupted: ${open.join(', ')} not done; run the command again to finish`);
    return ended(EXIT.interrupted);
  };
  let open: string[] = first.proposal.pools;
  let agreed: Agreed | undefined = first;
  const stopped = aborted(signal);
  limit.start();
  try {
    for (;;) {
      let pauseMs = POLL_MS;
      try {
        agreed ??= await Promise.race([again(open, written(all, open)), stopped]);
        if (signal.aborted) return interrupted();
        if (agreed === undefined) return ended(EXIT.error);
        const { pools, state } = agreed.proposal;
        for (const pool of open.filter(name => !pools.includes(name))) {
          tell(pool, 'the pool was deleted meanwhile');
          const known = all.get(pool);
          if (known?.outcome !== undefined)
            all.set(pool, { pool, outcome: { ...known.outcome, kind: 'released', failures: [] }, error: undefined });
        }
        const round = await run(agreed, over);
        const ends = new Map(round.map(result => [result.pool, endOf(result, state)]));
        for (const result of round) all.set(result.pool, added(all.get(result.pool), result));
        for (const [pool, end] of ends) {
          if (end !== 'paused') continue;
          leavesPaused = true;
          tell(pool, pausedText(pool, pausedFor(pool, state) ?? pool), true);
        }
        // A pool that was not started stays open.
        open = pools.filter(pool => typeof (ends.get(pool) ?? {}) === 'object');
        if (open.length === 0) return ended();
        const waiting = [...ends].flatMap(([pool, end]) => (typeof end === 'object' ? { pool, ...end } : []));
        pauseMs = waiting.reduce((least, { waitsMs }) => Math.min(least, waitsMs), MAX_PAUSE_MS);
        if (!over.aborted) for (const { pool, text } of waiting) tell(pool, text);
      } catch (error) {
        if (!(error instanceof NodepoolError)) throw error;
        const isRetried = error.kind === 'cluster' && !error.isPermanent;
        if (!isRetried) {
          const { oneLine, next } = error;
          if (error instanceof DeclinedError) showNote(io, [oneLine, ...(next === undefined ? [] : [next])].join('; '));
          else showError(io, error);
          return ended(EXIT.error);
        }
        if (!isQuiet && !over.aborted) showNote(io, `${error.oneLine}; trying again`);
      }
      agreed = undefined;
      await sleep(clock, pauseMs, over);
      if (signal.aborted) return interrupted();
      if (limit.signal.aborted) {
        for (const name of open) showError(io, timedOut(name, said.get(name) ?? '', limit.ms));
        return ended(EXIT.error);
      }
    }
  } finally {
    limit.end();
  }
}

function pausedText(pool: string, paused: string): string {
  const what = paused === pool ? 'paused, with changes due' : `its nodes wait for pool ${paused}, which is paused`;
  return `${what}; continue with \`kubectl nodepool rollout resume ${paused}\``;
}

/** The paused pool that all due changes wait for: the pool itself, or one that still has values on its nodes. */
function pausedFor(name: string, state: ClusterState): string | undefined {
  const pool = state.pool(name);
  if (pool !== undefined && isPaused(pool)) return name;
  const plans = differing(state, name).map(node => nodePlan(state, node));
  const [first] = plans;
  return first?.kind === 'paused' && plans.every(plan => plan?.kind === 'paused') ? first.pool : undefined;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise(resolve => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function written(all: ReadonlyMap<string, PoolResult>, open: readonly string[]): EarlierWrite | undefined {
  const nodes = new Set(movesOf([...all.values()]).map(({ node }) => node));
  if (nodes.size === 0) return undefined;
  const were = nodes.size === 1 ? 'was' : 'were';
  const message = `only ${plural(nodes.size, 'node')} ${were} written`;
  return { message, command: `kubectl nodepool reconcile ${open.join(' ')} --wait` };
}

function endOf({ pool: name, outcome, error }: PoolResult, state: ClusterState): PoolEnd {
  if (error !== undefined)
    return error.isPermanent ? 'failed' : { waitsMs: POLL_MS, text: `${error.oneLine}; trying again` };
  if (outcome === undefined) return { waitsMs: MIN_PAUSE_MS, text: 'not started' };
  if (outcome.kind === 'released' && outcome.failures.length === 0) return 'done';
  const [failure] = outcome.failures;
  if (failure !== undefined) {
    if (outcome.failures.every(({ isPermanent }) => isPermanent === true)) return 'failed';
    return { waitsMs: POLL_MS, text: `${failure.message}; trying again` };
  }
  const text = outcome.drain?.blocked ?? 'nodes wait until their pods are evicted';
  if (outcome.kind === 'interrupted') return { waitsMs: MIN_PAUSE_MS, text };
  if (outcome.drain !== undefined) return { waitsMs: POLL_MS, text };
  const pool = state.pool(name);
  if (pool === undefined) return 'failed';
  const { status } = outcome;
  const rollout = rolloutState(status === undefined ? pool : { ...pool, status });
  if (rollout.kind !== 'waiting') return rollout.kind;
  // A user has to resume it.
  if (pausedFor(name, state) !== undefined) return 'paused';
  const progress = status?.conditions?.find(({ type }) => type === 'Progressing')?.message;
  return { waitsMs: waitOf(outcome), text: progress ?? rollout.text };
}

function waitOf(outcome: NonNullable<PoolResult['outcome']>): number {
  const next = nextReconcile(outcome);
  if (next.kind === 'after') return Math.max(MIN_PAUSE_MS, next.ms);
  // Without a settle time, the next step is due once this one is written. Reverting changes of others is no step.
  const isStep = outcome.moves.some(({ changes }) => changes.some(change => !isRepair(change)));
  return isStep ? 0 : POLL_MS;
}

function timedOut(pool: string, text: string, timeoutMs: number) {
  const what = text === '' ? 'not done' : text;
  return {
    message: `${pool}: timed out after ${timeoutMs / 1000} s: ${what}`,
    next: `continue with \`kubectl nodepool reconcile ${pool} --wait\` and a longer --timeout`,
  };
}

/** All runs combined; an error that a later run did not have is resolved. */
function added(before: PoolResult | undefined, { pool, outcome, error }: PoolResult): PoolResult {
  if (before?.outcome === undefined) return { pool, outcome, error };
  return { pool, outcome: outcome === undefined ? before.outcome : mergedOutcome(before.outcome, outcome), error };
}
