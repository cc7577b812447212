/** One-shot runs use the queue of `reconcile --watch` until the remaining pools only wait. */
import type { Clock } from '../../../controller/clock.ts';
import { Controller, type ReconcileResult } from '../../../controller/controller.ts';
import { WorkQueue } from '../../../controller/work-queue.ts';
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { EventsPort } from '../../../kube/resources/events.ts';
import { NodepoolError, type Warning, warningAbout } from '../../../nodepool/errors.ts';
import { defined } from '../../../nodepool/json.ts';
import { drainingText } from '../../../nodepool/plan/no-execute.ts';
import { hasBegunDrain } from '../../../nodepool/plan/plan.ts';
import { isPaused } from '../../../nodepool/rollout/rollout.ts';
import { andMore } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import type { EvictionEvent } from '../../../reconciler/evict/evictor.ts';
import { ContestedKeys } from '../../../reconciler/limits/contested-keys.ts';
import { limitersOf } from '../../../reconciler/limits/limiters.ts';
import { WriteRateLimiter } from '../../../reconciler/limits/rate-limiters.ts';
import type { NodeProgress, ReconcilerOptions } from '../../../reconciler/options.ts';
import {
  addOnce,
  mergedOutcome,
  messagesOf,
  type NodeMove,
  nextReconcile,
  type PoolOutcome,
  specChangedFailure,
} from '../../../reconciler/outcome.ts';
import { type Intent, nodesOf, stateBefore } from '../../../reconciler/plan/intent.ts';
import { nodePlan } from '../../../reconciler/plan/node-plan.ts';
import { Reconciler } from '../../../reconciler/reconciler.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { isSamePool } from '../../../reconciler/state/live-reads.ts';
import { firstStripWarning } from '../consent/warnings.ts';
import { valueOrRefusal } from '../refusals.ts';
import { earlierRepairs } from './earlier-repairs.ts';
import type { ProposedReconcile } from './propose.ts';

/** The same as in `drain`. */
const EVICTION_TIMEOUT_MS = 15 * 60_000;

/** The options of a one-shot run. */
export interface ApplyOptions {
  cluster: ClusterPort;
  /** The wall clock. */
  now: () => Date;
  /** A monotonic clock. */
  clock: Clock;
  sleep: (ms: number) => Promise<void>;
  /** Once aborted, nothing more is written; waits for requests in flight, and sends their Events. */
  signal?: AbortSignal;
  /** Reads the Events of a pool for EarlierRepairs. */
  events?: Pick<EventsPort, 'listObjects'>;

  /** Maximum number of nodes and pools in progress: see Limiters. */
  concurrency: number;
  /** Approved NoExecute taints; undefined: all. */
  consent?: ReadonlySet<string> | undefined;
  /** Pools to delete, with their UIDs: a pool of the same name with another UID is not touched. */
  deleted?: ReadonlyMap<string, string>;
  /** Give up a pool after so many ms without an eviction; 0: never. Default: 15 minutes. */
  timeoutMs?: number | undefined;
  /** Leave a pool whose pods are evicted to a later run once another pool is done, which may have a next step. */
  leavesPods?: boolean;
  /** What the runs of one command share; each run updates it. Undefined for a single run. */
  memory?: RunMemory | undefined;

  progress?: NodeProgress;
  /** Called in order with evictions, to be shown to people. */
  onEviction?: (event: EvictionEvent) => void;
  /** Called with sentences for people. */
  warn: (warnings: readonly Warning[]) => void;
}

/** Write limits and repair counts apply across all runs. */
export type RunMemory = Partial<Pick<ReconcilerOptions, 'writeLimiter' | 'contestedKeys' | 'revisions'>>;

export interface PoolResult {
  pool: string;
  outcome: PoolOutcome | undefined;
  /** Why the pool could not be reconciled at all. */
  error: NodepoolError | undefined;
}

/** What a run did to one pool, including moves in other pools' outcomes. */
export interface PoolSummary extends PoolResult {
  joined: number;
  left: number;
  updated: number;
}

export interface ApplyResults {
  /** The pools of the intent, in its order. */
  chosen: PoolResult[];
  /** Other pools that share changed nodes with them, by name. */
  others: PoolResult[];
}

export async function reconcile(
  { state, pods, pools }: Pick<ProposedReconcile, 'state' | 'pods' | 'pools'>,
  options: ApplyOptions,
): Promise<PoolSummary[]> {
  options.warn(pools.flatMap(name => firstStripWarning(state, name)));
  const { chosen, others } = await apply(state, { pools }, options, pods);
  options.warn(others.flatMap(notUpToDate));
  return summariesOf(chosen);
}

/** @param results of one run, or of several runs combined */
export function summariesOf(results: readonly PoolResult[]): PoolSummary[] {
  const moves = movesOf(results);
  return results.map((result): PoolSummary => {
    const { pool } = result;
    const joined = moves.filter(move => move.to === pool && move.from !== pool).length;
    const left = moves.filter(move => move.from === pool && move.to !== pool).length;
    const isUpdate = ({ from, to, changes }: NodeMove) => from === pool && to === pool && changes.length > 0;
    // A node whose pods are evicted between two writes is written twice.
    const unfinished = new Set(result.outcome?.unfinished);
    const updated = new Set(moves.flatMap(move => (isUpdate(move) && !unfinished.has(move.node) ? move.node : [])))
      .size;
    return { ...result, joined, left, updated };
  });
}

/** @param pods per node, if counted into the status. A pool that cannot be written does not stop the others. */
export async function apply(
  state: ClusterState,
  intent: Intent,
  options: ApplyOptions,
  pods?: ReadonlyMap<string, number>,
): Promise<ApplyResults> {
  const { pools, changes, isDeletion = false } = intent;
  const counted = pods === undefined ? {} : { podsOn: (node: string) => pods.get(node) ?? 0 };
  const before = stateBefore(state, intent);
  const named = changes !== undefined || isDeletion ? nodesOf(intent, before, state) : [];
  const touched = new Set(named.flatMap(node => before.poolsOf(node)));
  const { memory = {} } = options;
  memory.writeLimiter ??= new WriteRateLimiter(options.clock);
  memory.contestedKeys ??= contestedKeysOf(options);
  const reconciler = reconcilerOf(state, options, {
    ...memory,
    ...counted,
    ...defined({ changes }),
  });
  const first = await untilIdle(pools, reconciler, { ...options, state });
  const moves = movesOf(first);
  for (const { from, to } of moves) for (const pool of [from, to]) if (pool !== undefined) touched.add(pool);
  // Even if a write failed: another pool that matches such a node has lost it, or is now the only match.
  for (const pool of named.flatMap(node => state.poolsOf(node))) touched.add(pool);
  const shared = touchedByOthers(first);
  const gained = first.filter(result => shared.has(result.pool) && !isLeft(result)).map(({ pool }) => pool);
  const results = await untilIdle(gained, reconciler, { ...options, state });
  const second = new Map(results.map(result => [result.pool, result]));
  const chosen = first.map(result => {
    const again = second.get(result.pool);
    return again === undefined ? result : merged(result, again);
  });
  const others = [...touched].filter(pool => !pools.includes(pool) && state.isActive(pool)).toSorted();
  const only = new Set([...named, ...moves.map(({ node }) => node)]);
  memory.revisions = reconciler.revisions;
  const rest = reconcilerOf(state, options, { ...memory, ...counted, only });
  return { chosen, others: await untilIdle(others, rest, { ...options, state }) };
}

export function movesOf(results: readonly PoolResult[]): NodeMove[] {
  return results.flatMap(({ outcome }) => outcome?.moves ?? []);
}

/** Warnings about pools outside of the intent whose nodes or status could not be written. */
export function notUpToDate({ pool, outcome, error }: PoolResult): Warning[] {
  const problems = [...messagesOf(outcome?.failures ?? []), ...(error === undefined ? [] : [error.oneLine])];
  const [first] = problems;
  const warnings = (outcome?.warnings ?? []).map(warning => warningAbout(pool, warning));
  if (first === undefined) return warnings;
  const more = andMore(problems.length - 1, ' (', ')');
  const message = `${pool} is not up to date: ${first}${more}`;
  return [...warnings, { message, next: `run \`kubectl nodepool reconcile ${pool}\`` }];
}

/** Whether a later run has to complete the pool. */
function isLeft({ outcome }: PoolResult): boolean {
  return outcome === undefined || outcome.kind === 'interrupted' || outcome.drain !== undefined;
}

/** Pools involved in moves of other pools' outcomes. */
function touchedByOthers(results: readonly PoolResult[]): Set<string> {
  const touched = new Set<string>();
  for (const { pool, outcome } of results) {
    for (const { from, to } of outcome?.moves ?? []) {
      for (const other of [from, to]) if (other !== undefined && other !== pool) touched.add(other);
    }
  }
  return touched;
}

function contestedKeysOf({ cluster, clock, events }: ApplyOptions): ContestedKeys {
  const isAsked = events !== undefined && !cluster.isDryRun;
  const asks = isAsked
    ? { earlierRepairs: (pool: NodePool) => earlierRepairs(pool, events, cluster.nodes.serverTime) }
    : {};
  return new ContestedKeys({ clock, cluster, ...asks });
}

function reconcilerOf(
  state: ClusterState,
  { cluster, now, clock, sleep, concurrency, consent, deleted, progress, onEviction, signal }: ApplyOptions,
  ofRun: Pick<ReconcilerOptions, 'changes' | 'only' | 'writeLimiter' | 'contestedKeys' | 'revisions' | 'podsOn'>,
): Reconciler {
  const limiters = limitersOf(concurrency);
  const optional = defined({ progress, onEviction, consent, deleted, signal });
  return new Reconciler({ cluster, state, ...limiters, now, sleep, clock, ...optional, ...ofRun });
}

interface PoolInLoop {
  /** The pool at the start of the run. */
  known: NodePool | undefined;
  /** Its reconciles so far, combined. */
  result?: PoolResult;
  /** Nodes wait until their pods are evicted. */
  isWaiting: boolean;
  isDone: boolean;
  /** The lowest number of remaining nodes and pods, and since when. */
  least: number;
  since: number;
}

/**
 * Reconciles the pools until each is done; repeats those that changed in the meantime, or whose pods are evicted later.
 * Such a pool is given up, with a failure, if for `timeoutMs` no pod was evicted and no node was finished. Also ends
 * when the signal is aborted or the pool is edited. The next run continues with the rest.
 * @returns results in the order of the pools
 */
export async function untilIdle(
  pools: readonly string[],
  reconciler: Pick<Reconciler, 'reconcile'>,
  options: Pick<ApplyOptions, 'cluster' | 'clock' | 'signal' | 'timeoutMs' | 'leavesPods'> & { state: ClusterState },
): Promise<PoolResult[]> {
  const { cluster, state, clock, signal, timeoutMs = EVICTION_TIMEOUT_MS, leavesPods = false } = options;
  const loop = new Map<string, PoolInLoop>(
    pools.map(pool => [
      pool,
      { known: state.pool(pool), isWaiting: false, isDone: false, least: Number.POSITIVE_INFINITY, since: clock.now() },
    ]),
  );
  const queue = new WorkQueue<string>({ clock });
  let crash: { error: unknown } | undefined;

  const reconcileOne = async (name: string, pool: PoolInLoop): Promise<ReconcileResult> => {
    if (pool.isWaiting) {
      // Stopped while it waited: left to the next run.
      if (signal?.aborted) return { kind: 'done' };
      pool.isWaiting = false;
      if (await wasEdited(name, pool.known, state, cluster)) {
        addOnce(pool.result?.outcome?.failures ?? [], specChangedFailure(name));
        return { kind: 'done' };
      }
    }
    const result = await resultOf(name, reconciler.reconcile(name));
    pool.result = pool.result === undefined ? result : merged(pool.result, result);
    const { outcome, error } = pool.result;
    if (outcome?.kind === 'interrupted') pool.result = interrupted(pool.result, state);
    if (outcome === undefined || error !== undefined) return { kind: 'done' };
    const next = nextReconcile(outcome);
    if (next.kind === 'changed') return { kind: 'requeue' };
    // This run only waits for pods: failures and limits are not retried.
    const waiting = next.kind === 'error' ? next.rest : next;
    if (waiting.kind !== 'pods') return { kind: 'done' };
    const { drain, podsMs } = waiting;
    if (leavesPods && [...loop.values()].some(({ isDone }) => isDone)) return { kind: 'done' };
    const left = drain.nodes.length + drain.pods;
    if (left < pool.least) [pool.least, pool.since] = [left, clock.now()];
    const leftMs = timeoutMs > 0 ? pool.since + timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
    if (leftMs <= 0) {
      const message = `gave up after ${timeoutMs / 1000} s without an eviction: ${drainingText(drain)}`;
      outcome.failures.push({ message, next: `to continue, run \`kubectl nodepool reconcile ${name}\`` });
      return { kind: 'done' };
    }
    pool.isWaiting = true;
    return { kind: 'requeueAfter', ms: Math.min(podsMs, leftMs) };
  };
  const controller = new Controller<string>({
    name: 'run',
    queue,
    // All at once: the connection limits the requests in flight.
    workers: Math.max(pools.length, 1),
    clock,
    log: () => {},
    async reconcile(name) {
      const pool = loop.get(name);
      try {
        if (pool === undefined) return { kind: 'done' };
        const result = await reconcileOne(name, pool);
        pool.isDone = result.kind === 'done';
        return result;
      } catch (error) {
        crash ??= { error };
        queue.shutDown();
        return { kind: 'done' };
      }
    },
  });
  // Ends without waiting for the pools that wait.
  const stop = () => queue.shutDown();
  for (const pool of pools) queue.add(pool);
  signal?.addEventListener('abort', stop);
  controller.start();
  await queue.idle();
  signal?.removeEventListener('abort', stop);
  await controller.stop();
  if (crash !== undefined) throw crash.error;
  return [...loop.values()].flatMap(({ result, isWaiting }) => {
    if (result === undefined) return [];
    const isUnfinished = isWaiting || (result.error === undefined && result.outcome?.isChanged);
    return isUnfinished ? interrupted(result, state) : result;
  });
}

/** A NodepoolError becomes the pool's result; other errors are thrown. */
async function resultOf(pool: string, work: Promise<PoolOutcome>): Promise<PoolResult> {
  try {
    return { pool, outcome: await work, error: undefined };
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { pool, outcome: undefined, error };
  }
}

/** Both reconciles combined; the state of the pool is that after the second. */
function merged(first: PoolResult, { pool, outcome, error }: PoolResult): PoolResult {
  if (first.outcome === undefined) return { pool, outcome, error: error ?? first.error };
  // The first reconcile may already report that the spec changed.
  const isSaid = error !== undefined && messagesOf(first.outcome.failures).includes(error.oneLine);
  if (outcome === undefined) return { pool, outcome: first.outcome, error: isSaid ? undefined : error };
  return { pool, outcome: mergedOutcome(first.outcome, outcome), error };
}

/** Reports nodes whose drain began but has not finished; the last reconcile may have finished some. */
function interrupted(result: PoolResult, state: ClusterState): PoolResult {
  const { pool, outcome } = result;
  if (outcome === undefined) return result;
  const waiting = state.members(pool).filter(({ name }) => {
    const plan = nodePlan(state, name);
    return plan !== undefined && hasBegunDrain(plan);
  });
  const unwritten = Math.max(outcome.unwritten, waiting.length);
  const unfinished = waiting.map(({ name }) => name);
  return { ...result, outcome: { ...outcome, kind: 'interrupted', unwritten, unfinished } };
}

/** Whether the spec was edited since the run began, which uses the spec of that time. Reads the pool. */
async function wasEdited(
  name: string,
  known: NodePool | undefined,
  state: ClusterState,
  { pools }: Pick<ClusterPort, 'pools'>,
): Promise<boolean> {
  const readTime = state.beginRead();
  const read = await valueOrRefusal(() => pools.getCoerced(name));
  // If it can no longer be read, use the state: it could be read when the run began.
  const latest = 'refusal' in read ? state.pool(name) : read.value;
  if (known === undefined) return latest !== undefined;
  if (latest === undefined || latest.metadata.uid !== known.metadata.uid) return true;
  if (!isPaused(latest) && !isSamePool(known, latest)) return true;
  state.setPool(latest, readTime);
  return false;
}
