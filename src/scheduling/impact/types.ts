/** What the impact of a change of nodes is computed from, and what it says. */

import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import type { Requirement } from '../../nodepool/membership/label-query.ts';
import type { Taint } from '../../nodepool/types.ts';
import type { FitReasons } from '../fit-reasons.ts';
import type { RawPodSpec } from '../pod/raw-pod.ts';
import type { PodTraits } from '../types.ts';
import type { ChangedKey } from './node-keys.ts';

export interface PodOwner {
  kind: string;
  name: string;
}

/** A pod that is on a node and has not ended. */
export interface RunningPod {
  name: string;
  pod: PodTraits;
  node: string;
  /** The controller that recreates it: of a Deployment's pod, the Deployment. */
  owner: PodOwner | undefined;
  /**
   * Of a pod of a Job: the Job, and how many more of its pods may fail. Infinity: evictions do not count. `active`: how many pods it
   * has, which are deleted if it fails; absent: an index of it fails alone.
   */
  job?: { name: string; failuresLeft: number; active?: number };
  /** Set once it is judged: a second object for each of 50,000 pods would take 3 MB. */
  eviction?: PodEviction | undefined;
}

export interface EvictedPod extends RunningPod {
  eviction: PodEviction;
}

/** Pods with the same placement share it. */
export interface PodEviction {
  /** After the change. */
  seconds: number;
  /** By the Eviction API, which respects PodDisruptionBudgets. */
  isDrained: boolean;
  /** It tolerates what keeps pods away until the taint is set, and so may come back to the node. */
  mayReturn: boolean;
  causes: readonly ChangedKey[];
}

export interface DaemonSet {
  namespace: string;
  name: string;
  /** spec.template.spec. */
  template: RawPodSpec;
}

export interface SelectingObject {
  kind: string;
  /** Empty: cluster-scoped. */
  namespace: string;
  name: string;
  /** By label key. */
  keys: ReadonlyMap<string, readonly KeyUse[]>;
  /** Of an object whose pods the scheduler places. */
  placement?: PodPlacement;
  /** The RuntimeClass of its template, which adds to the placement. */
  runtimeClass?: string;
}

/** How an object uses a label of nodes. */
export interface KeyUse {
  /** Where in the object: `nodeSelector`, `node affinity`, `topology spread`. */
  where: string;
  /** The scheduler takes no node without the label. */
  isNeeded?: boolean;
  /** The scheduler may ignore it. */
  isPreference?: boolean;
  /** Whether it selects the value. Absent: each value counts, as for a topology key. */
  requirements?: readonly Requirement[];
}

export interface DaemonImpact {
  namespace: string;
  name: string;
  /** Nodes, sorted. */
  starts: string[];
  stops: string[];
  /** Of those where it starts, the nodes without room for its pod. */
  pending: string[];
  /** What these lack. */
  reasons: FitReasons;
}

/** Pods of one owner, or one pod without. */
export interface PodsImpact {
  namespace: string;
  owner: PodOwner | undefined;
  /** Names, sorted. */
  pods: string[];
}

/** Pods that go on running where the scheduler would not put them again. */
export interface StrandedPods extends PodsImpact {
  /** If all such pods are recreated, or, without a controller, created again; undefined for those of a DaemonSet. */
  next: PodDestination | undefined;
}

export interface EvictionImpact extends PodsImpact {
  /** Of those that tolerate the taint for a while, the shortest and the longest time in seconds. */
  later?: { pods: number; min: number; max: number };
  /** Those that may come back to their node before it gets the taint. */
  mayReturn: number;
  /** Of these, those that find no place once their nodes have the taint; `next` does not count them. */
  pendingAfter: number;
  /** Those that a drain never evicts, as their budgets do not allow it; `next` is about the others. */
  blockedByBudget: number;
  /** Some of these may be evicted: see `certain` of their budget. */
  mayNotBeBlocked?: boolean;
  /** Those that are not recreated: with so many evictions, which count as failures, their Job fails for good. */
  failed: number;
  /** Pods of these Jobs that are deleted because of that; undefined: not known how many. */
  deletedWithJob: number | undefined;
  /** Undefined: no controller recreates them. */
  next: PodDestination | undefined;
  /** Of those that stay Pending while nodes are drained, what becomes of them afterwards; undefined: they stay so. */
  afterDrain?: PodDestination;
}

/** Where the scheduler can put the pods that are recreated. */
export interface PodDestination {
  /** By node, how many fit. */
  nodes: ReadonlyMap<string, number>;
  /** Pods that only nodes take whose taints evict them again after some time. */
  returns: ReadonlyMap<string, number>;
  /** The shortest time until such a node evicts them again, in seconds; Infinity: none takes them. */
  returnSeconds: number;
  /** Of those on `nodes`, how many may stay Pending: it depends on which nodes the scheduler takes first. */
  uncertain: number;
  /** Other evicted pods compete for the room: where they are placed first, fewer have a place; where last, more. */
  isContested: boolean;
  /** Those that stay Pending. */
  pending: number;
  /** Those of a StatefulSet that are not created before one that stays Pending runs. */
  waiting: number;
  /** In the best order, more of the pending have a place. */
  mayFit?: boolean;
  /** Why one of the pending does; empty where none stays Pending. */
  reasons: FitReasons;
}

/** What evictions mean to a PodDisruptionBudget, `namespace/name`. */
export type BudgetImpact = { budget: string; pods: number } & (
  | { kind: 'undercut'; allowed: number }
  /** `pending` find no place, `notRecreated` of them as they have no controller: after `allowed` of them too few are healthy, and the Eviction API waits for ever. `certain`: false if it may end all the same, as some have a place until or once another node is drained. */
  | { kind: 'stuck'; pending: number; notRecreated?: number; needs: number; allowed: number; certain?: false }
  | { kind: 'never'; why: string }
  /** It allows no eviction now. */
  | { kind: 'waits'; healthy: number; needs: number }
  /** Its status is not computed: it allows none until it is. @param why where the disruption controller gives a reason */
  | { kind: 'unknown'; why?: string }
  /** Its pods have further budgets, `others`: the Eviction API evicts no such pod. */
  | { kind: 'several'; others: string[] }
  /** `pods` of a node may come back to it, and the budget never allows so many evictions at once: such nodes get no taint. */
  | { kind: 'returning'; nodes: string[]; allowed: number }
);

/** How the nodes of a pool with `noExecute: Drain` get a taint. */
export interface DrainOrder {
  /** How many of the nodes. */
  nodes: number;
  /** The taint that keeps new pods away meanwhile. */
  closedBy: Taint | undefined;
}

/** What the change of one label or taint does, on all nodes where it is the same. */
export interface KeyImpact {
  change: ChangedKey;
  /** Sorted. */
  nodes: string[];
  /** How many nodes have the label as it was after the change; undefined for a taint, and a label that is new. */
  holders: number | undefined;
  /** Of a taint that waits until pods are evicted. */
  drain: DrainOrder | undefined;
  daemonSets: DaemonImpact[];
  /** Pods that go on running, and that the scheduler would not put on their node again. */
  notAgain: PodsImpact[];
  evicted: PodsImpact[];
  /** Of a taint: workloads without pods here whose new pods no node takes any more. */
  shutOut: Pick<SelectingObject, 'kind' | 'namespace' | 'name'>[];
  /** In the order of kind, namespace and name. */
  selectedBy: SelectedBy[];
}

export interface SelectedBy {
  kind: string;
  namespace: string;
  name: string;
  where: string;
  /** Of what `where` names, the scheduler may ignore all. */
  isPreferred: boolean;
  /** Whether the object selects the node otherwise after the change, by this label alone. */
  isAffected: boolean;
  /** No node takes new pods of it after the change, or, as a topology key asks, has the label. */
  isPending: boolean;
}

export interface Impact {
  keys: KeyImpact[];
  /** Each pod counts once, whatever number of keys it concerns. */
  daemonSets: DaemonImpact[];
  notAgain: StrandedPods[];
  evicted: EvictionImpact[];
  /** Those that evictions undercut, or that block evictions until somebody changes them. */
  budgets: BudgetImpact[];
  /** What is not judged of pods that would be created again. */
  notJudged: NotJudged[];
}

export interface NotJudged {
  /** As a sentence: `resourceClaims (dynamic resource allocation)`. */
  what: string;
  pods: PodsImpact[];
}

/** Kinds of objects that can select nodes by labels, beside pods and DaemonSets. */
export const SELECTING_KINDS = [
  'Deployment',
  'StatefulSet',
  'ReplicaSet',
  'ReplicationController',
  'Job',
  'CronJob',
  'PersistentVolume',
  'StorageClass',
  'RuntimeClass',
] as const;
export type SelectingKind = (typeof SELECTING_KINDS)[number];
