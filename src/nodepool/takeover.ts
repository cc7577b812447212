/** How far a pool of the earlier operator is taken over: a mark on the pool, which no CRD can drop. */
import { type NodePool, TAKEOVER_ANNOTATION } from './types.ts';

/** `started` before the first record of an inherited pool is written, `finished` when a run has tried all of its nodes. */
export type Takeover = 'started' | 'finished';

export function takeoverOf({ metadata }: NodePool): Takeover | undefined {
  const value = metadata.annotations?.[TAKEOVER_ANNOTATION];
  return value === 'started' || value === 'finished' ? value : undefined;
}

/** There is a status, and not the field in it that this program always writes in the end. */
export function isWithoutGeneration({ status }: NodePool): boolean {
  return status?.status !== undefined && status.observedGeneration === undefined;
}

/** Whether the server has dropped fields from the status that this program wrote: its CRD is another version's. */
export function hasLostFields(pool: NodePool): boolean {
  return isWithoutGeneration(pool) && takeoverOf(pool) === 'finished';
}

export const LOST_FIELDS = 'the CRD nodepools.nodes.lailin.xyz is of another version and drops fields of the status';
export const MEND_LOST_FIELDS = 'run `kubectl nodepool install`, then `kubectl nodepool reconcile`';
