/** Applies an intent: reconciles its pools, then the other pools that gained or lost nodes. */
import type { Clock } from '../../controller/clock.ts';
import { defined } from '../../nodepool/json.ts';
import { andMore } from '../../nodepool/plural.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type Warning, warningAbout } from '../../nodepool/warning.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { messagesOf } from '../../reconciler/failure.ts';
import { type Intent, nodesOf, stateBefore } from '../../reconciler/intent.ts';
import { Contests } from '../../reconciler/limits/contests.ts';
import { limitersOf } from '../../reconciler/limits/limiters.ts';
import { WriteRateLimiter } from '../../reconciler/limits/write-rate-limiter.ts';
import type { NodeMove } from '../../reconciler/node-move.ts';
import type { NodeProgress, ReconcilerOptions } from '../../reconciler/options.ts';
import type { ClusterPort } from '../../reconciler/ports.ts';
import { Reconciler } from '../../reconciler/reconciler.ts';
import type { EventsPort } from '../ports.ts';
import { earlierRepairs } from './earlier-repairs.ts';
import { merged, type PoolResult } from './pool-result.ts';
import { untilDrained } from './until-drained.ts';

export type { PoolResult };

export interface ApplyOptions {
  /** Nodes and pools in progress at most: see Limiters. */
  concurrency: number;
  /** See Agreed. */
  consent?: ReadonlySet<string> | undefined;
  /** Pools that are deleted, with their UIDs: a pool of that name with another UID is not touched. */
  deleted?: ReadonlyMap<string, string>;
  /** See untilDrained(). */
  timeoutMs?: number;
}

export interface ApplyDeps extends Pick<ReconcilerOptions, 'onEviction'> {
  cluster: ClusterPort;
  now: () => Date;
  clock: Pick<Clock, 'now'>;
  /** Ends early where the signal is aborted. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  progress?: NodeProgress;
  /** Gets sentences for people. */
  warn: (warnings: readonly Warning[]) => void;
  /** Where the Events of a pool are read, for EarlierRepairs. */
  events?: Pick<EventsPort, 'listObjects'>;
  /** Once aborted, nothing more is written: what is under way is waited for, and its Events are sent. */
  signal?: AbortSignal;
}

export interface Applied {
  /** Of the pools of the intent, in its order. */
  own: PoolResult[];
  /** Of other pools that share changed nodes with them, by name. */
  others: PoolResult[];
}

/** @param pods on each node, where they are counted into the status. A pool that cannot be written stops no other. */
export async function apply(
  state: ClusterState,
  intent: Intent,
  options: ApplyOptions,
  deps: ApplyDeps,
  pods?: ReadonlyMap<string, number>,
): Promise<Applied> {
  const { pools, changes, isDeletion = false } = intent;
  const counted = pods === undefined ? {} : { podsOn: (node: string) => pods.get(node) ?? 0 };
  const before = stateBefore(state, intent);
  const named = changes !== undefined || isDeletion ? nodesOf(intent, before, state) : [];
  const touched = new Set(named.flatMap(node => before.poolsOf(node)));
  const writeLimiter = new WriteRateLimiter(deps.clock);
  const contests = contestsOf(deps);
  const reconciler = reconcilerOf(state, options, deps, {
    writeLimiter,
    contests,
    ...counted,
    ...defined({ changes }),
  });
  const reconciled = (pool: string, by: Reconciler) => untilDrained(pool, by, options, { ...deps, state });
  const first = await Promise.all(pools.map(pool => reconciled(pool, reconciler)));
  const moves = movesOf(first);
  for (const { from, to } of moves) for (const pool of [from, to]) if (pool !== undefined) touched.add(pool);
  // Written or not: another pool that matches such a node has lost it to a pool, or is its only one now.
  for (const pool of named.flatMap(node => state.poolsOf(node))) touched.add(pool);
  const shared = touchedByOthers(first);
  const again = (pool: string) => reconciled(pool, reconciler);
  const own = await Promise.all(first.map(result => reconciledAgain(result, shared, again)));
  const others = [...touched].filter(pool => !pools.includes(pool) && state.isStaying(pool)).toSorted();
  const only = new Set([...named, ...moves.map(({ node }) => node)]);
  const rest = reconcilerOf(state, options, deps, { writeLimiter, contests, ...counted, only });
  return { own, others: await Promise.all(others.map(pool => reconciled(pool, rest))) };
}

export function movesOf(results: readonly PoolResult[]): NodeMove[] {
  return results.flatMap(({ outcome }) => outcome?.moves ?? []);
}

/** Warnings about a pool outside of the intent whose nodes or status could not be written. */
export function notUpToDate({ pool, outcome, error }: PoolResult): Warning[] {
  const problems = [...messagesOf(outcome?.failures ?? []), ...(error === undefined ? [] : [error.oneLine])];
  const [first] = problems;
  const warnings = (outcome?.warnings ?? []).map(warning => warningAbout(pool, warning));
  if (first === undefined) return warnings;
  const more = andMore(problems.length - 1, ' (', ')');
  const message = `${pool} is not up to date: ${first}${more}`;
  return [...warnings, { message, next: `run \`kubectl nodepool reconcile ${pool}\`` }];
}

/** Reconciles again a pool that another pool's reconcile gave a node, or took one from. */
async function reconciledAgain(
  result: PoolResult,
  touched: ReadonlySet<string>,
  again: (pool: string) => Promise<PoolResult>,
): Promise<PoolResult> {
  const { pool, outcome: first } = result;
  const isLeft = first === undefined || first.kind === 'interrupted' || first.drain !== undefined;
  return isLeft || !touched.has(pool) ? result : merged(result, await again(pool));
}

/** Pools that took part in moves of other pools' outcomes. */
function touchedByOthers(results: readonly PoolResult[]): Set<string> {
  const touched = new Set<string>();
  for (const { pool, outcome } of results) {
    for (const { from, to } of outcome?.moves ?? []) {
      for (const other of [from, to]) if (other !== undefined && other !== pool) touched.add(other);
    }
  }
  return touched;
}

function contestsOf({ cluster, clock, events }: ApplyDeps): Contests {
  const isAsked = events !== undefined && !cluster.isDryRun;
  const asks = isAsked
    ? { earlierRepairs: (pool: NodePool) => earlierRepairs(pool, events, cluster.nodes.serverTime) }
    : {};
  return new Contests({ clock, nodes: cluster.nodes, ...asks });
}

function reconcilerOf(
  state: ClusterState,
  { concurrency, consent, deleted }: ApplyOptions,
  { cluster, now, clock, sleep, progress, onEviction, signal }: ApplyDeps,
  own: Pick<ReconcilerOptions, 'changes' | 'only' | 'writeLimiter' | 'contests' | 'podsOn'>,
): Reconciler {
  const limiters = limitersOf(concurrency);
  const optional = defined({ progress, onEviction, consent, deleted, signal });
  return new Reconciler({ cluster, state, ...limiters, now, sleep, clock, ...optional, ...own });
}
