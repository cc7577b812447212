/** The options of a drain, one type for all of its parts, and its events. */
import type { Clock } from '../../controller/clock.ts';
import type { ClusterReader, DryRun, EvictionsClient } from '../../kube/cluster.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import type { DrainPod, DrainRules } from '../../nodepool/drain/drain-filters.ts';
import type { DrainPace } from '../../nodepool/drain/drain-slots.ts';
import type { CordonChange } from '../../nodepool/drain/plan-cordon.ts';
import type { NodepoolError, Warning } from '../../nodepool/errors.ts';
import type { BlockedPod, EvictionEvent } from '../../reconciler/evict/evictor.ts';
import type { CordonOptions, CordonResult } from '../shared/cordon/cordon.ts';
import type { MaintenanceClient } from '../shared/cordon/maintenance.ts';

export interface DrainChoice {
  dryRun: DryRun;
  /** Drain only these members; empty: all. */
  nodes: readonly string[];
  /** Each node is cordoned right before it is drained, not all at the start. */
  isRolling: boolean;
  /** @param members number of members of the pool */
  pace: (members: number) => DrainPace;
  cordon: CordonChange;
  rules: DrainRules;
  /** Evict only pods that match this label selector. */
  podSelector: string | undefined;
  /** Delete pods instead of evicting them: no budget is checked. */
  disableEviction: boolean;
  /** Timeout for each node, in milliseconds; 0: none. */
  timeoutMs: number;
}

export interface DrainOptions extends DrainChoice {
  cluster: ClusterReader & CordonOptions['cluster'];
  /** Removes pods according to `disableEviction`. In a server dry run, removals are only checked. */
  evictions: EvictionsClient;
  maintenance: MaintenanceClient;
  volumes: SchedulingPort['boundVolumes'];
  /** A monotonic clock. */
  clock: Clock;
  /** The wall clock. */
  now: () => Date;
  /** Waits between two attempts to cordon a node. */
  sleep: (ms: number) => Promise<void>;
  /** Ends the drain: once it is aborted, nothing is written. */
  signal?: AbortSignal;
  /** Called in order. @param state the pool and all its nodes after the event */
  onEvent?: (event: DrainEvent, state: PoolDrainState) => void;
  /** About a maintenance that is not published, and about pods that may have returned. */
  onWarning: (warning: Warning) => void;
}

export interface PoolDrainState {
  pool: string;
  /** In the order of the drain. Nodes with another phase than `drained` are not drained. */
  drains: NodeDrainState[];
  /** Pods that its drained nodes had at the end: returned pods, or new ones. */
  returned?: DrainPod[];
}

export interface NodeDrainState {
  node: string;
  /** `waits`: in a dry run, some of its pods would have to wait. */
  phase: 'pending' | 'in progress' | 'drained' | 'failed' | 'waits';
  /** The number of pods to evict, and how many of them are gone. */
  pods: number;
  gone: number;
  /** Pods that are not evicted yet, and what they wait for, by UID. */
  blockedPods: Map<string, Pick<BlockedPod, 'pod' | 'why'>>;
  /** Pods that are terminating for too long to wait for, as `namespace/name`. */
  terminating?: Set<string>;
  /** The node got pods that the drain had not listed. */
  hasNewcomers?: boolean;
  /** How many of those pods the last list had; undefined: unknown. */
  returned?: number;
  /** Another node now has its name. */
  isReplaced?: boolean;
}

export type DrainEvent =
  | { kind: 'cordon'; result: CordonResult }
  | PodEvent
  /** @param returned number of pods in the last list that the drain had not listed */
  | { kind: 'drained'; node: string; returned: number }
  /** Only in a dry run. */
  | { kind: 'waits'; node: string; blockedPods: NodeDrainState['blockedPods'] }
  /** The node is no longer a member. */
  | { kind: 'left'; node: string; pool: string; isCordoned: boolean }
  | { kind: 'replaced'; node: string }
  | { kind: 'failed'; node: string; error: NodepoolError };

export type PodEvent =
  | EvictionEvent
  /** The pod is terminating for too long to wait for. */
  | { kind: 'stuck'; node: string; pod: string }
  /** About pods that were not in the plan. */
  | { kind: 'warning'; node: string; text: string };
