/** The client for pods that a drain takes. src/kube implements it. */
import type { Budget } from '../nodepool/budgets.ts';
import type { DrainPod } from '../nodepool/drain-filters.ts';
import type { EvictionsClient, PodRemoval, Removal } from '../reconciler/ports.ts';

export type { PodRemoval, Removal };

export interface DrainPort extends EvictionsClient {
  /** All PodDisruptionBudgets of the cluster. */
  budgets(): Promise<Budget[]>;
  hasDaemonSet(namespace: string, name: string): Promise<boolean>;
  /** Checks no PodDisruptionBudget. */
  delete(pod: DrainPod, removal: PodRemoval): Promise<Removal>;
}
