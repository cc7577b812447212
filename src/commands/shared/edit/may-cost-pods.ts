/** Whether an edit of a pool can cost pods their place on its nodes. */

import { membershipSelector } from '../../../nodepool/membership/selector.ts';
import { deepEqual } from '../../../nodepool/merge-patch.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { taintId } from '../../../nodepool/spec/taint.ts';
import type { NodePool } from '../../../nodepool/types.ts';

/** A label that goes or changes, a taint that comes and keeps pods away, or nodes that may leave. */
export function mayCostPods(before: NodePool, after: NodePool): boolean {
  const [was, is] = [coercePool(before), coercePool(after)];
  const kept = new Map(Object.entries(is.spec.labels ?? {}));
  if (Object.entries(was.spec.labels ?? {}).some(([key, value]) => kept.get(key) !== value)) return true;
  const had = new Set(taintsOf(was));
  if (taintsOf(is).some(taint => !had.has(taint))) return true;
  if (is.spec.unmanaged === 'Remove' && was.spec.unmanaged !== 'Remove') return true;
  return !deepEqual(membershipSelector(was), membershipSelector(is));
}

function taintsOf({ spec: { taints = [], startupTaints = [] } }: NodePool): string[] {
  const strict = [...taints, ...startupTaints].filter(({ effect }) => effect !== 'PreferNoSchedule');
  return strict.map(taint => `${taintId(taint)} ${taint.value ?? ''}`);
}
