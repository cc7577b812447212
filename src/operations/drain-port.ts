/** What a drain asks of a cluster, beyond its nodes. src/kube implements it. */
import type { DrainPod } from '../nodepool/drain-filters.ts';

/** How a pod is to go. */
export interface PodRemoval {
  /** Undefined: the pod's own. */
  gracePeriodSeconds: number | undefined;
  /** The server checks it and keeps the pod. */
  dryRun: boolean;
}

/** What came of asking for a pod to go. All but a refusal for good, which is thrown, is a value. */
export type Removal =
  /** It will go, in its own time. */
  | { kind: 'accepted' }
  /** No pod of that name and UID is there. */
  | { kind: 'gone' }
  /** Somebody changed the pod, or its budget, or made it anew, at the same time. */
  | { kind: 'changed' }
  /** A PodDisruptionBudget does not let it go now. */
  | { kind: 'budget'; budget: string | undefined; message: string }
  /** The server has too much to do. @param afterMs when it wants to be asked again, if it says so */
  | { kind: 'busy'; afterMs: number | undefined; message: string }
  /** Its namespace is being deleted: no eviction is taken there, and the pod will be deleted. */
  | { kind: 'namespace ends'; message: string };

export interface DrainPort {
  /** @param podSelector a label selector, as the server takes it */
  podsOn(node: string, podSelector?: string): Promise<DrainPod[]>;
  hasDaemonSet(namespace: string, name: string): Promise<boolean>;
  /** Throws NodepoolError when the pod can never go that way. */
  evict(pod: DrainPod, removal: PodRemoval): Promise<Removal>;
  /** Without asking any PodDisruptionBudget. */
  delete(pod: DrainPod, removal: PodRemoval): Promise<Removal>;
}
