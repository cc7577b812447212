/** A run that selects nodes of a pool: what it does not know of the others. */
import type { NodePool } from '../nodepool/types.ts';
import type { Warning } from '../nodepool/warning.ts';

/**
 * Whether the status of the pool cannot be told after the run.
 * @param due how many nodes still differ
 * @param others how many of these were not selected
 */
export function isStatusUnknown({ metadata, status }: NodePool, due: number, others: number): boolean {
  // The status of a spec that was not applied before could not express that most nodes still differ.
  if (due > 0 && status?.observedGeneration !== metadata.generation) return true;
  // Why the writes of the others failed is in the previous status only.
  return others > 0 && status?.conditions?.some(({ reason }) => reason === 'WriteFailed') === true;
}

/** @param nodes how many nodes outside of this run differ from the pool's labels and taints */
export function notApplied(pool: string, nodes: number, isUnknown: boolean): Warning {
  const subject = nodes === 1 ? '1 other node differs' : `${nodes} other nodes differ`;
  const status = isUnknown ? ', and the status was not written' : '';
  return {
    message: `${subject} from the labels and taints of the pool${status}`,
    next: `run \`kubectl nodepool reconcile ${pool}\``,
  };
}
