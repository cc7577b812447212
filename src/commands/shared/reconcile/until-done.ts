/**
 * `reconcile --wait`: one-shot runs, one after the other, until each pool is done or stopped. A rollout takes its next step as soon as
 * it may, and evictions that a budget blocks are waited for. A failed read or write is tried again, unless a retry alone does not help.
 * At the timeout, and after Ctrl-C, what is done stays: the next `reconcile` goes on.
 */
import { EXIT, showError, showNote } from '../../../cli/errors.ts';
import type { Io } from '../../../cli/io.ts';
import { type Clock, sleep } from '../../../controller/clock.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isPaused } from '../../../nodepool/rollout/rollout.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { nextReconcile } from '../../../reconciler/outcome.ts';
import { rolloutState } from '../rollout-state.ts';
import type { PoolSummary } from './apply.ts';

export interface UntilDone {
  timeoutMs: number;
  /**
   * Reads, plans and reconciles once, and asks about what was not agreed to; undefined: a person said no.
   * @param pools undefined: those of the command
   */
  run: (pools: readonly string[] | undefined, signal: AbortSignal) => Promise<PoolSummary[] | undefined>;
  /** The pool as it was read or written last. */
  poolOf: (name: string) => NodePool | undefined;
  clock: Clock;
  /** Of Ctrl-C. */
  signal: AbortSignal;
  io: Io;
  isQuiet: boolean;
}

export interface WaitEnd {
  summaries: PoolSummary[];
  /** Undefined: all pools are done, or the command was interrupted. */
  exit: number | undefined;
}

/** Where nobody knows when the next step is due, and after a failure. */
const POLL_MS = 5_000;
/** A node that turns NotReady meanwhile is noticed. */
const MAX_PAUSE_MS = 30_000;

type PoolEnd = 'done' | 'failed' | { waitsMs: number; text: string };

/** Undefined: a person said no to the first run. Throws what fails before anything is done. */
export async function untilDone(options: UntilDone): Promise<WaitEnd | undefined> {
  const { timeoutMs, run, poolOf, clock, signal, io, isQuiet } = options;
  const deadline = new AbortController();
  const cancel = timeoutMs > 0 ? clock.after(timeoutMs, () => deadline.abort()) : () => {};
  const over = AbortSignal.any([signal, deadline.signal]);
  const all = new Map<string, PoolSummary>();
  const said = new Map<string, string>();
  const tell = (pool: string, text: string) => {
    if (!isQuiet && said.get(pool) !== text) showNote(io, `${pool}: ${text}`);
    said.set(pool, text);
  };
  const ended = (exit: number | undefined): WaitEnd => ({ summaries: [...all.values()], exit });
  let open: string[] | undefined;
  let hasFailed = false;
  try {
    for (;;) {
      let round: PoolSummary[] | undefined;
      try {
        round = await run(open, over);
        if (round === undefined) return open === undefined ? undefined : ended(EXIT.error);
      } catch (error) {
        const isRetried = error instanceof NodepoolError && error.kind === 'cluster' && !error.isPermanent;
        if (open === undefined || !isRetried) {
          if (open === undefined || !(error instanceof NodepoolError)) throw error;
          showError(io, error);
          return ended(EXIT.error);
        }
        if (!isQuiet) showNote(io, `${error.oneLine}; trying again`);
      }
      for (const summary of round ?? []) all.set(summary.pool, added(all.get(summary.pool), summary));
      if (signal.aborted) return ended(undefined);
      const left = (round ?? []).map(summary => ({ pool: summary.pool, end: endOf(summary, poolOf(summary.pool)) }));
      for (const { end } of left) hasFailed ||= end === 'failed';
      const waiting = left.flatMap(({ pool, end }) => (typeof end === 'object' ? { pool, ...end } : []));
      if (round !== undefined) open = waiting.map(({ pool }) => pool);
      if (open?.length === 0) return ended(hasFailed ? EXIT.error : undefined);
      if (!over.aborted) {
        for (const { pool, text } of waiting) tell(pool, text);
        const pauseMs = waiting.reduce((least, { waitsMs }) => Math.min(least, waitsMs), MAX_PAUSE_MS);
        await sleep(clock, round === undefined ? POLL_MS : pauseMs, over);
      }
      if (signal.aborted) {
        showNote(io, `interrupted: ${open?.join(', ')} not done; run the command again to finish`);
        return ended(EXIT.interrupted);
      }
      if (deadline.signal.aborted) {
        for (const name of open ?? []) showError(io, timedOut(name, said.get(name) ?? '', timeoutMs));
        return ended(EXIT.error);
      }
    }
  } finally {
    cancel();
  }
}

function endOf({ outcome, error }: PoolSummary, pool: NodePool | undefined): PoolEnd {
  if (error !== undefined)
    return error.isPermanent ? 'failed' : { waitsMs: POLL_MS, text: `${error.oneLine}; trying again` };
  if (outcome === undefined) return { waitsMs: 0, text: 'not begun' };
  if (outcome.kind === 'released' && outcome.failures.length === 0) return 'done';
  const [failure] = outcome.failures;
  if (failure !== undefined) {
    if (outcome.failures.every(({ isPermanent }) => isPermanent === true)) return 'failed';
    return { waitsMs: POLL_MS, text: `${failure.message}; trying again` };
  }
  const text = outcome.drain?.blocked ?? 'nodes wait for the eviction of their pods';
  if (outcome.drain !== undefined || outcome.kind === 'interrupted') return { waitsMs: 0, text };
  // Somebody has to resume it.
  if (pool === undefined || isPaused(pool)) return 'failed';
  const { status } = outcome;
  const state = rolloutState(status === undefined ? pool : { ...pool, status });
  if (state.kind !== 'waiting') return state.kind;
  const next = nextReconcile(outcome);
  // Without a time to settle, the next step is due once this one is written.
  const waitsMs = next.kind === 'after' ? next.ms : outcome.moves.length > 0 ? 0 : POLL_MS;
  const progress = status?.conditions?.find(({ type }) => type === 'Progressing')?.message;
  return { waitsMs, text: progress ?? state.text };
}

function timedOut(pool: string, text: string, timeoutMs: number) {
  const what = text === '' ? 'it is not done' : text;
  return {
    message: `${pool}: timed out after ${timeoutMs / 1000} s: ${what}`,
    next: `go on with \`kubectl nodepool reconcile ${pool} --wait\`, and a longer --timeout`,
  };
}

/** Of all runs, as if they were one. */
function added(before: PoolSummary | undefined, { joined, left, updated, ...last }: PoolSummary): PoolSummary {
  const { joined: j = 0, left: l = 0, updated: u = 0 } = before ?? {};
  const outcome = last.outcome ?? before?.outcome;
  return { ...last, outcome, joined: j + joined, left: l + left, updated: u + updated };
}
