/** What a reconcile works with, and what it may do: one type for all of its parts. */
import type { NowClock } from '../controller/clock.ts';
import type { Limiter } from '../controller/limiter.ts';
import type { ClusterPort } from '../kube/cluster.ts';
import type { Warning } from '../nodepool/errors.ts';
import type { WritePlan } from '../nodepool/plan/plan.ts';
import type { NodePool } from '../nodepool/types.ts';
import type { EvictionEvent } from './evict/evictor.ts';
import type { ContestedKeys } from './limits/contested-keys.ts';
import type { StatusRateLimiter, WriteRateLimiter } from './limits/rate-limiters.ts';
import type { NodeMove } from './outcome.ts';
import type { MembershipChanges } from './plan/membership-change.ts';
import type { ClusterState } from './state/cluster-state.ts';

/** The history of pools: see write/revision-writer.ts. */
export interface RevisionKeeper {
  keep(pool: NodePool, warnings: Warning[]): Promise<void>;
  forget(pool: string): void;
}

export interface ReconcilerOptions {
  cluster: ClusterPort;
  state: ClusterState;
  /** Monotonic. */
  clock: NowClock;
  /** The wall clock: times of rollouts, and of the status. */
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  /** Caches keep the cluster state current, and their event handlers enqueue a pool that changes. */
  hasCaches?: boolean;
  /** Once aborted, no further write is sent and no further pod is evicted. */
  signal?: AbortSignal;

  /** Bounds the nodes and pools in progress. */
  limitObjects: Limiter;
  /** Bounds the nodes whose pods are evicted, within limitObjects. Default: no limit. */
  limitPolls?: Limiter;
  /** Shared with other writers of the same run. Default: a new one. */
  writeLimiter?: WriteRateLimiter;
  /** Without it every status is written at once. */
  statusLimiter?: StatusRateLimiter;
  /** As writeLimiter; nodes are written without it, too: then repairs are not counted. */
  contestedKeys?: ContestedKeys;
  /** As writeLimiter. */
  revisions?: RevisionKeeper;

  /** Of a pool that is not being deleted and has some of these, no other node is written. */
  changes?: MembershipChanges;
  /** Of pools that are not being deleted, only these nodes are written. */
  only?: ReadonlySet<string>;
  /** UIDs of the pools that are deleted, by name: a pool of that name with another UID is not touched. */
  deleted?: ReadonlyMap<string, string>;
  /** Taints with the effect NoExecute that may be set, as noExecuteOf() gives them; undefined: all. */
  consent?: ReadonlySet<string> | undefined;
  /** Pods on a node that have not ended, where they are counted. */
  podsOn?: (node: string) => number;

  progress?: NodeProgress;
  /** Called before each write of a node. */
  onWrite?: (plan: WritePlan) => void;
  /** Evictions, for people, in order. */
  onEviction?: (event: EvictionEvent) => void;
  /** Gets the node writes in place of sending their Events. */
  onMoves?: (moves: readonly NodeMove[]) => void;
}

/** The options with the limiter that all writers of a reconcile share. */
export interface WriterOptions extends ReconcilerOptions {
  writeLimiter: WriteRateLimiter;
}

/** Called when node writes are planned, and when each is done, failed or not. */
export interface NodeProgress {
  planned(nodes: number): void;
  done(): void;
}
