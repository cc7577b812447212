/** A pod and its parts as scheduling rules see it, and why nodes do not take it. */
import type { PodPlacement } from '../nodepool/drain/placement.ts';
import type { LabelQuery } from '../nodepool/membership/label-query.ts';
import type { RawClaimSpec } from './pod/raw-pod.ts';
import type { Requests } from './pod/requests.ts';

export interface Pod extends PodTraits {
  name: string;
  nodeName: string | undefined;
}

/** Everything that the scheduler uses: equal for most replicas of a workload. */
export interface PodTraits {
  namespace: string;
  labels: Record<string, string>;
  /** If the controller gives each replica labels of its own. Absent: all have the same labels. */
  replicas?: ReplicaLabels;
  /** spec.nodeName: the only node that may run it. Absent: the scheduler chooses one. */
  nodeName?: string | undefined;
  placement: RunningPlacement;
  requests: Requests;
  hostPorts: readonly HostPort[];
  /** Constraints with `DoNotSchedule`. */
  spread: readonly SpreadConstraint[];
  /** Required pod affinity terms. */
  affinity: readonly PodTerm[];
  antiAffinity: readonly PodTerm[];
  claims: readonly ClaimUse[];
  disks: readonly Disk[];
  gates: readonly string[];
  /** Sentences about what may keep it from being scheduled and is not judged. */
  notJudged: readonly string[];
  /** It has a deletionTimestamp: topology spread ignores it. */
  isTerminating: boolean;
}

export interface ReplicaLabels {
  /** The keys of the labels that differ. */
  keys: readonly string[];
  /** All labels of another replica. */
  ofNext: Record<string, string>;
  /** And those that it gets from its node. */
  placed: Record<string, string>;
  /** Terms and spread constraints that use such labels, with these labels removed. */
  named: readonly PodTerm[];
  /** Terms with the pod's own value of such labels (matchLabelKeys, mismatchLabelKeys), with these labels removed. */
  own: readonly PodTerm[];
}

export interface RunningPlacement extends PodPlacement {
  /** The placement of the pod that replaces it. Absent: the same. */
  recreated?: PodPlacement;
}

export interface HostPort {
  /** `TCP/8080`. */
  port: string;
  /** `0.0.0.0` means every address of the node. */
  ip: string;
}

export interface Disk {
  kind: 'gce' | 'aws' | 'iscsi' | 'rbd';
  /** Equal for volumes of the same disk. */
  id: string;
  /** For RBD: one common monitor is enough. */
  monitors: readonly string[];
  /** Pods can share a disk that all of them only read. */
  readOnly: boolean;
}

export interface SpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  /** Includes matchLabelKeys. Undefined: it selects no pod. */
  selector: LabelQuery | undefined;
  minDomains: number;
  /** Count only nodes that match nodeSelector and node affinity. */
  honorsAffinity: boolean;
  /** Count only nodes whose taints are tolerated. */
  honorsTaints: boolean;
}

export interface PodTerm {
  topologyKey: string;
  namespaces: readonly string[];
  /** Undefined: it selects no namespace. */
  namespaceSelector: LabelQuery | undefined;
  /** Includes matchLabelKeys and mismatchLabelKeys. Undefined: it selects no pod. */
  selector: LabelQuery | undefined;
}

/** A claim that a pod names, or that is created, owned and deleted with it. */
export interface ClaimUse {
  /** The claim's name; with a template the volume's name, because the claim's name contains the pod's. */
  name: string;
  template: RawClaimSpec | undefined;
}

// Why a node, or every node, does not take a pod.

/** In the order of kube-scheduler's rules; it applies `gates` and `claims` before it filters nodes. */
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
  /** The wording of kube-scheduler 1.36. */
  words: string;
  /** Details: the taint, the requested and free amounts, the missing label. */
  detail?: string;
  /** For an insufficient resource. */
  short?: { resource: string; requested: bigint; free: bigint };
}
