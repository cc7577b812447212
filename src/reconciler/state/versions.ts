/** Whether two versions of an object are the same, or look the same. */
import { deepEqual } from '../../nodepool/merge-patch.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';

export interface Versioned {
  uid?: string;
  resourceVersion?: string;
}

/** Whether both are the same version of one object: a watch event that repeats a response, or the reverse. */
export function isSame(before: Versioned | undefined, after: Versioned): boolean {
  return before?.uid === after.uid && before?.resourceVersion === after.resourceVersion;
}

/** metadata.generation changes with the spec. */
export function isAlikeButStatus(before: NodePool | undefined, after: NodePool): boolean {
  const rest = ({ metadata }: NodePool) => ({ ...metadata, resourceVersion: '', managedFields: [] });
  return before !== undefined && deepEqual(rest(before), rest(after));
}

/** Whether both are equal but for the resourceVersion. */
export function looksSame(a: Node | undefined, b: Node): boolean {
  if (a === undefined) return false;
  if (isSame(a, b)) return true;
  const { resourceVersion: _a, ...before } = a;
  const { resourceVersion: _b, ...after } = b;
  return deepEqual(before, after);
}
