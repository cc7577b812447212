/** The client for pods that a drain takes. src/kube implements it. */
import type { DrainPod } from '../nodepool/drain-filters.ts';
import type { EvictionsClient, PodRemoval, Removal } from '../reconciler/ports.ts';

export type { PodRemoval, Removal };

export interface DrainPort extends EvictionsClient {
  hasDaemonSet(namespace: string, name: string): Promise<boolean>;
  /** Checks no PodDisruptionBudget. */
  delete(pod: DrainPod, removal: PodRemoval): Promise<Removal>;
}
