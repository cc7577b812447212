/** The client for pods that a drain takes. src/kube implements it. */
import type { Budget } from '../nodepool/budgets.ts';
import type { DrainPod } from '../nodepool/drain-filters.ts';

/** How a pod is evicted or deleted. */
export interface PodRemoval {
  /** Undefined: the pod's terminationGracePeriodSeconds. */
  gracePeriodSeconds: number | undefined;
  /** The server checks it and keeps the pod. */
  dryRun: boolean;
}

/** The result of an eviction or delete. A permanent refusal is thrown. */
export type Removal =
  /** The pod terminates after its grace period. */
  | { kind: 'accepted' }
  /** No pod of that name and UID is there. */
  | { kind: 'gone' }
  /** A conflict: somebody changed or recreated the pod, or changed its budget, at the same time. */
  | { kind: 'changed' }
  /** A PodDisruptionBudget does not allow the eviction now. */
  | { kind: 'budget'; budget: string | undefined; message: string }
  /** The server is overloaded. @param afterMs its Retry-After, if any */
  | { kind: 'busy'; afterMs: number | undefined; message: string }
  /** Its namespace is being deleted: no eviction is accepted there, and the pod will be deleted. */
  | { kind: 'namespace ends'; message: string };

export interface DrainPort {
  /** @param podSelector a label selector, as the server takes it */
  podsOn(node: string, podSelector?: string): Promise<DrainPod[]>;
  /** All PodDisruptionBudgets of the cluster. */
  budgets(): Promise<Budget[]>;
  hasDaemonSet(namespace: string, name: string): Promise<boolean>;
  /** Throws NodepoolError when the eviction can never succeed. */
  evict(pod: DrainPod, removal: PodRemoval): Promise<Removal>;
  /** Checks no PodDisruptionBudget. */
  delete(pod: DrainPod, removal: PodRemoval): Promise<Removal>;
}
