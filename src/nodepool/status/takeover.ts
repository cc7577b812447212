/** How far a pool of the earlier operator is taken over: an annotation on the pool, which no CRD can drop. */
import { type NodePool, TAKEOVER_ANNOTATION } from '../types.ts';

/** `started` before the first record of an inherited pool is written; `finished` after a run tried all nodes. */
export type Takeover = 'started' | 'finished';

export function takeoverOf({ metadata }: NodePool): Takeover | undefined {
  const value = metadata.annotations?.[TAKEOVER_ANNOTATION];
  return value === 'started' || value === 'finished' ? value : undefined;
}

/** Whether the status lacks observedGeneration, which this program always sets in the end. */
export function isWithoutGeneration({ status }: NodePool): boolean {
  return status?.status !== undefined && status.observedGeneration === undefined;
}

/** Whether the server dropped status fields that this program wrote, because the CRD is of another version. */
export function hasLostFields(pool: NodePool): boolean {
  return isWithoutGeneration(pool) && takeoverOf(pool) === 'finished';
}

export const LOST_FIELDS = 'the CRD nodepools.nodes.lailin.xyz is of another version and drops fields of the status';
export const MEND_LOST_FIELDS = 'run `kubectl nodepool install`, then `kubectl nodepool reconcile`';
