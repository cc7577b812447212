/** Why a pod is not evicted now, in words that `drain` and pools with `noExecute: Drain` share. */
import { type DrainPod, podName } from '../nodepool/drain-filters.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Removal } from './ports.ts';

/** Removals after which the pod is there, and asked about again. */
export type Refused = Extract<Removal, { kind: 'budget' | 'busy' | 'namespace ends' }>;

/** What it waits for, as `PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently`. */
export function holdText(removal: Refused, { namespace }: Pick<DrainPod, 'namespace'>): string {
  switch (removal.kind) {
    case 'budget': {
      const { budget } = removal;
      const name = budget === undefined ? 'a PodDisruptionBudget' : `PodDisruptionBudget ${namespace}/${budget}`;
      return `${name}: ${removal.message}`;
    }
    case 'busy':
      return `the server: ${removal.message}`;
    case 'namespace ends':
      return `the deletion of its namespace: ${removal.message}`;
  }
}

/** @param otherwise what helps besides, as the end of a sentence */
export function manyBudgetsError(pod: DrainPod, budgets: readonly string[], otherwise = ''): NodepoolError {
  const names = budgets.length === 0 ? '' : `: ${budgets.join(', ')}`;
  return new NodepoolError(
    'cluster',
    `pod ${podName(pod)} has more than one PodDisruptionBudget, and the server evicts no such pod${names}`,
    `keep one of them${otherwise}`,
  );
}
