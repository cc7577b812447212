/** What a drain works with, and what it may do: one type for all of its parts; and what it reports. */
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
  /** Only these members; empty: all. */
  nodes: readonly string[];
  /** Each node is cordoned right before it is drained, not all at the start. */
  isRolling: boolean;
  /** @param members of the pool */
  pace: (members: number) => DrainPace;
  cordon: CordonChange;
  rules: DrainRules;
  /** Only pods with these labels, as the server takes it. */
  podSelector: string | undefined;
  /** Pods are deleted, not evicted: no budget is checked. */
  disableEviction: boolean;
  /** For one node, in milliseconds; 0: no timeout. */
  timeoutMs: number;
}

export interface DrainOptions extends DrainChoice {
  cluster: ClusterReader & CordonOptions['cluster'];
  /** Removes pods as `disableEviction` says. In a dry run on the server, it checks every removal and keeps the pods. */
  evictions: EvictionsClient;
  maintenance: MaintenanceClient;
  volumes: SchedulingPort['boundVolumes'];
  /** Monotonic. */
  clock: Clock;
  /** The wall clock. */
  now: () => Date;
  /** Between two attempts to cordon a node. */
  sleep: (ms: number) => Promise<void>;
  /** Ends the drain: nothing is written once it is aborted. */
  signal?: AbortSignal;
  /** In order. @param state the pool and all its nodes as they are now */
  onEvent?: (event: DrainEvent, state: PoolDrainState) => void;
  /** About a maintenance that is not published, and pods that may have come back. */
  onWarning: (warning: Warning) => void;
}

export interface PoolDrainState {
  pool: string;
  /** In the order in which they are drained. Nodes whose phase is not `drained` are not drained. */
  drains: NodeDrainState[];
  /** Pods that were found on its drained nodes at the end: they came back, or others came. */
  returned?: DrainPod[];
}

export interface NodeDrainState {
  node: string;
  /** `waits`: in a dry run, some of its pods would wait. */
  phase: 'pending' | 'in progress' | 'drained' | 'failed' | 'waits';
  /** Pods to evict, and those of them that are gone. */
  pods: number;
  gone: number;
  /** Pods that are not evicted yet, with what they wait for, by UID. */
  blockedPods: Map<string, Pick<BlockedPod, 'pod' | 'why'>>;
  /** Pods that are terminating for too long to be waited for, as `namespace/name`. */
  terminating?: Set<string>;
  /** Pods came that the drain did not list. */
  hasNewcomers?: boolean;
  /** How many of them are there at its last look; undefined: not known. */
  returned?: number;
  /** Another node has its name. */
  isReplaced?: boolean;
}

export type DrainEvent =
  | { kind: 'cordon'; result: CordonResult }
  | PodEvent
  /** @param returned pods that the drain did not list, at its last look */
  | { kind: 'drained'; node: string; returned: number }
  /** Only in a dry run. */
  | { kind: 'waits'; node: string; blockedPods: NodeDrainState['blockedPods'] }
  /** The node is no longer a member. */
  | { kind: 'left'; node: string; pool: string; isCordoned: boolean }
  | { kind: 'replaced'; node: string }
  | { kind: 'failed'; node: string; error: NodepoolError };

export type PodEvent =
  | EvictionEvent
  /** It is terminating for too long to be waited for. */
  | { kind: 'stuck'; node: string; pod: string }
  /** About pods that the plan did not have. */
  | { kind: 'warning'; node: string; text: string };
