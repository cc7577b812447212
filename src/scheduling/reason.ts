/** Why a node, or every node, does not take a pod. */

/** In the order in which kube-scheduler asks its rules; `gates` and `claims` are asked before any node is looked at. */
export type Rule =
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

export interface Reason {
  rule: Rule;
  /** As kube-scheduler 1.36 prints it. */
  words: string;
  /** What in particular: the taint, what is free and asked for, the label that is missing. */
  detail?: string;
  /** Of a resource that is short. */
  short?: { resource: string; asked: bigint; free: bigint };
}
