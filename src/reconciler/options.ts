/** Dependencies and permissions of a reconcile: one type for all of its parts. */
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
  /** The wall clock, for the times of rollouts and of the status. */
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  /** Caches keep the cluster state current, and their event handlers enqueue changed pools. */
  hasCaches?: boolean;
  /** Once aborted, no further write is sent and no further pod is evicted. */
  signal?: AbortSignal;

  /** Limits the nodes and pools in progress. */
  limitObjects: Limiter;
  /** Limits the nodes whose pods are evicted, within limitObjects. Default: no limit. */
  limitPolls?: Limiter;
  /** A wait within limitObjects for another object in progress. Default: the waiting one keeps its slot. */
  aside?: Limiter;
  /** Shared with other writers of the same run. Default: a new one. */
  writeLimiter?: WriteRateLimiter;
  /** Default: every status is written at once. */
  statusLimiter?: StatusRateLimiter;
  /** Shared like writeLimiter. Default: repairs are not counted. */
  contestedKeys?: ContestedKeys;
  /** Shared like writeLimiter. */
  revisions?: RevisionKeeper;

  /** If a pool that is not being deleted has some of these, its other nodes are not written. */
  changes?: MembershipChanges;
  /** For pools that are not being deleted, only these nodes are written. */
  only?: ReadonlySet<string>;
  /** UIDs of the deleted pools, by name: a pool of that name with another UID is not changed. */
  deleted?: ReadonlyMap<string, string>;
  /** NoExecute taints that may be set, as returned by noExecuteOf(); undefined: all. */
  consent?: ReadonlySet<string> | undefined;
  /** Number of pods on a node that have not terminated, if they are counted. */
  podsOn?: (node: string) => number;

  progress?: NodeProgress;
  /** Called before each write of a node. */
  onWrite?: (plan: WritePlan) => void;
  /** Called with evictions in order, for display. */
  onEviction?: (event: EvictionEvent) => void;
  /** Gets the node writes, instead of sending their Events. */
  onMoves?: (moves: readonly NodeMove[]) => void;
}

/** The options with the limiter that all writers of a reconcile share. */
export interface WriterOptions extends ReconcilerOptions {
  writeLimiter: WriteRateLimiter;
}

/** Called when node writes are planned, and when each has ended, successful or not. */
export interface NodeProgress {
  planned(nodes: number): void;
  done(): void;
}
