/** A pod as the rules of scheduling see it, its parts, and why nodes do not take it. */
import type { PodPlacement } from '../nodepool/drain/placement.ts';
import type { LabelQuery } from '../nodepool/membership/label-query.ts';
import type { RawClaimSpec } from './pod/raw-pod.ts';
import type { Requests } from './pod/requests.ts';

export interface Pod extends PodTraits {
  name: string;
  nodeName: string | undefined;
}

/** All that the scheduler looks at: alike in most replicas of a workload. */
export interface PodTraits {
  namespace: string;
  labels: Record<string, string>;
  /** Where its controller gives each replica labels of its own. Absent: all have the same. */
  replicas?: ReplicaLabels;
  /** spec.nodeName: the only node that may run it. Absent: the scheduler chooses one. */
  nodeName?: string | undefined;
  placement: RunningPlacement;
  requests: Requests;
  hostPorts: readonly HostPort[];
  /** Constraints with `DoNotSchedule`. */
  spread: readonly SpreadConstraint[];
  /** Required terms of pod affinity. */
  affinity: readonly PodTerm[];
  antiAffinity: readonly PodTerm[];
  claims: readonly ClaimUse[];
  disks: readonly Disk[];
  gates: readonly string[];
  /** What may keep it from being scheduled and is not judged, as sentences. */
  notJudged: readonly string[];
  /** It has a deletionTimestamp: topology spread does not count it. */
  isTerminating: boolean;
}

export interface ReplicaLabels {
  /** Of the labels that differ. */
  keys: readonly string[];
  /** All labels of another replica. */
  ofNext: Record<string, string>;
  /** Terms and spread constraints that name such labels, without these labels. */
  named: readonly PodTerm[];
  /** Those that take the pod's own value of such labels (matchLabelKeys, mismatchLabelKeys), without these labels. */
  own: readonly PodTerm[];
}

export interface RunningPlacement extends PodPlacement {
  /** Of the pod that is created in its stead. Absent: the same. */
  recreated?: PodPlacement;
}

export interface HostPort {
  /** `TCP/8080`. */
  port: string;
  /** `0.0.0.0` is every address of the node. */
  ip: string;
}

export interface Disk {
  kind: 'gce' | 'aws' | 'iscsi' | 'rbd';
  /** What two volumes of the same disk have in common. */
  id: string;
  /** Of RBD: one in common is enough. */
  monitors: readonly string[];
  /** Pods share a disk that all of them only read. */
  readOnly: boolean;
}

export interface SpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  /** With matchLabelKeys. Undefined: it selects no pod. */
  selector: LabelQuery | undefined;
  minDomains: number;
  /** Whether only nodes count that nodeSelector and node affinity match. */
  honorsAffinity: boolean;
  /** Whether only nodes count whose taints are tolerated. */
  honorsTaints: boolean;
}

export interface PodTerm {
  topologyKey: string;
  namespaces: readonly string[];
  /** Undefined: it selects no namespace. */
  namespaceSelector: LabelQuery | undefined;
  /** With matchLabelKeys and mismatchLabelKeys. Undefined: it selects no pod. */
  selector: LabelQuery | undefined;
}

/** A claim that a pod names, or that is created with it, owned by it and deleted with it. */
export interface ClaimUse {
  /** Of the claim; with a template, of the volume: the claim's name has the pod's, which differs in each replica. */
  name: string;
  template: RawClaimSpec | undefined;
}

// Why a node, or every node, does not take a pod.

/** In the order in which kube-scheduler applies its rules; it applies `gates` and `claims` before it filters nodes. */
type SchedulerRule =
  | 'gates'
  | 'claims'
  | 'unschedulable'
  | 'nodeName'
  | 'taints'
  | 'nodeAffinity'
  | 'hostPorts'
  | 'resources'
  | 'disks'
  | 'claimInUse'
  | 'volumes'
  | 'volumeZone'
  | 'spread'
  | 'podAffinity'
  | 'podAntiAffinity'
  | 'existingAntiAffinity';

export interface UnfitReason {
  rule: SchedulerRule;
  /** As kube-scheduler 1.36 prints it. */
  words: string;
  /** What in particular: the taint, what is free and asked for, the label that is missing. */
  detail?: string;
  /** Of a resource that is short. */
  short?: { resource: string; requested: bigint; free: bigint };
}
