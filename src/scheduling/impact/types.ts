/** Input and result of the impact of node changes. */

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

/** An unfinished pod on a node. */
export interface RunningPod {
  name: string;
  pod: PodTraits;
  node: string;
  /** The controller that recreates it: for a pod of a Deployment, the Deployment. */
  owner: PodOwner | undefined;
  /**
   * The Job of a pod, and how many more of its pods may fail; Infinity: evictions do not count. `active`: the number of
   * its pods, which are deleted if it fails; absent: only one of its indexes fails.
   */
  job?: { name: string; failuresLeft: number; active?: number };
  /** Set once it is judged: a second object for each of 50,000 pods would take 3 MB. */
  eviction?: PodEviction | undefined;
}

export interface EvictedPod extends RunningPod {
  eviction: PodEviction;
}

/** Shared by pods with the same placement. */
export interface PodEviction {
  /** Seconds after the change. */
  seconds: number;
  /** The Eviction API evicts it, which respects PodDisruptionBudgets. */
  isDrained: boolean;
  /** The pod tolerates the stand-in taint, and so may return to the node until the final taint is set. */
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
  /** Set if the scheduler places the pods of the object. */
  placement?: PodPlacement;
  /** The RuntimeClass of its template, which adds to the placement. */
  runtimeClass?: string;
  /** Labels for which the RuntimeClass selects another value than the template: the server refuses such pods. */
  refusedBy?: readonly string[];
}

/** How an object uses a node label. */
export interface KeyUse {
  /** The field in the object: `nodeSelector`, `node affinity`, `topology spread`. */
  where: string;
  /** The scheduler requires the label on a node. */
  isNeeded?: boolean;
  /** The scheduler may ignore it. */
  isPreference?: boolean;
  /** Whether it selects the value. Absent: every value matters, as for a topology key. */
  requirements?: readonly Requirement[];
}

export interface DaemonImpact {
  namespace: string;
  name: string;
  /** Node names, sorted. */
  starts: string[];
  stops: string[];
  /** The nodes in `starts` that have no room for its pod. */
  pending: string[];
  /** What these nodes lack. */
  reasons: FitReasons;
}

/** Pods of one owner, or one pod without an owner. */
export interface PodsImpact {
  namespace: string;
  owner: PodOwner | undefined;
  /** Pod names, sorted. */
  pods: string[];
}

/** Pods that keep running although the scheduler would not put them there again. */
export interface StrandedPods extends PodsImpact {
  /** Where they go if all are recreated (by hand, without a controller); undefined for pods of a DaemonSet. */
  next: PodDestination | undefined;
}

export interface EvictionImpact extends PodsImpact {
  /** Pods that tolerate the taint for a while, with the shortest and the longest time in seconds. */
  later?: { pods: number; min: number; max: number };
  /** Number of pods that may return to their node before it gets the taint. */
  mayReturn: number;
  /** Number of these that do not fit once their nodes have the taint; `next` does not include them. */
  pendingAfter: number;
  /** Number of pods that a drain never evicts because of their budgets; `next` does not include them. */
  blockedByBudget: number;
  /** Some of these may be evicted: see `certain` of their budget. */
  mayNotBeBlocked?: boolean;
  /** Number of pods that are not recreated: evictions count as failures, so their Job fails for good. */
  failed: number;
  /** Number of other pods of these Jobs that are deleted as a result; undefined: unknown. */
  deletedWithJob: number | undefined;
  /** Undefined: no controller recreates them. */
  next: PodDestination | undefined;
  /** What happens after the drain to pods that stay Pending during it; undefined: they stay Pending. */
  afterDrain?: PodDestination;
}

/** Where the scheduler can put recreated pods. */
export interface PodDestination {
  /** How many fit on each node. */
  nodes: ReadonlyMap<string, number>;
  /** Pods that only fit on nodes whose taints evict them again after some time. */
  returns: ReadonlyMap<string, number>;
  /** The shortest time in seconds until such a node evicts them again; Infinity: there is no such node. */
  returnSeconds: number;
  /** How many of those on `nodes` may stay Pending, depending on which nodes the scheduler picks first. */
  uncertain: number;
  /** Other evicted pods compete for the room: fewer fit if those are placed first, more if last. */
  isContested: boolean;
  /** Number of pods that stay Pending. */
  pending: number;
  /** Number of StatefulSet pods that are not created until an earlier Pending pod runs. */
  waiting: number;
  /** In the best order, more of the pending pods fit. */
  mayFit?: boolean;
  /** Why one of the pending pods does not fit; empty if there are none. */
  reasons: FitReasons;
}

/** The effect of evictions on a PodDisruptionBudget, `namespace/name`. */
export type BudgetImpact = { budget: string; pods: number } & (
  | { kind: 'undercut'; allowed: number }
  /**
   * `pending` pods do not fit, `notRecreated` of them for lack of a controller: after `allowed` of them too few are
   * healthy, and the Eviction API blocks forever. `certain`: false if some may fit: until or once another node is
   * drained, or in another scheduling order.
   */
  | { kind: 'stuck'; pending: number; notRecreated?: number; needs: number; allowed: number; certain?: false }
  | { kind: 'never'; why: string }
  /** The budget allows no eviction now. */
  | { kind: 'waits'; healthy: number; needs: number }
  /** The budget's status is not computed yet, so it allows none. @param why the controller's reason, if any */
  | { kind: 'unknown'; why?: string }
  /** Its pods match further budgets, `others`: the Eviction API never evicts such pods. */
  | { kind: 'several'; others: string[] }
  /** `pods` of a node may return, and the budget never allows that many evictions at once: such nodes get no taint. */
  | { kind: 'returning'; nodes: string[]; allowed: number }
);

/** How nodes of a pool with `noExecute: Drain` get a taint. */
export interface DrainOrder {
  /** The number of these nodes. */
  nodes: number;
  /** The stand-in taint that keeps new pods away during the drain. */
  closedBy: Taint | undefined;
}

/** The effects of one label or taint change on all nodes that have it. */
export interface KeyImpact {
  change: ChangedKey;
  /** Node names, sorted. */
  nodes: string[];
  /** How many nodes still have the old label after the change; undefined for a taint or a new label. */
  holders: number | undefined;
  /** For a taint that waits until pods are evicted. */
  drain: DrainOrder | undefined;
  daemonSets: DaemonImpact[];
  /** Pods that keep running, but that the scheduler would not put on their node again. */
  notAgain: PodsImpact[];
  evicted: PodsImpact[];
  /** For a taint: workloads without pods here whose new pods no node takes any more. */
  shutOut: Pick<SelectingObject, 'kind' | 'namespace' | 'name'>[];
  /** Sorted by kind, namespace and name. */
  selectedBy: SelectedBy[];
}

export interface SelectedBy {
  kind: string;
  namespace: string;
  name: string;
  where: string;
  /** The scheduler may ignore everything in `where`. */
  isPreferred: boolean;
  /** Whether this label alone changes whether the object selects the node. */
  isAffected: boolean;
  /** After the change, no node takes new pods of it, or has the label that a topology key needs. */
  isPending: boolean;
  /** After the change, the server refuses new pods of it: their RuntimeClass selects another value. */
  isRefused: boolean;
}

export interface Impact {
  keys: KeyImpact[];
  /** Each pod counts once, whatever the number of keys. */
  daemonSets: DaemonImpact[];
  notAgain: StrandedPods[];
  evicted: EvictionImpact[];
  /** Budgets that evictions violate, or that block evictions until someone changes them. */
  budgets: BudgetImpact[];
  /** Rules that are not judged for pods that would be created again. */
  notJudged: NotJudged[];
}

export interface NotJudged {
  /** As a sentence: `resourceClaims (dynamic resource allocation)`. */
  what: string;
  pods: PodsImpact[];
}

/** Kinds of objects that can select nodes by labels, in addition to pods and DaemonSets. */
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
