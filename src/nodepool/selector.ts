import { own } from './json.ts';
import type { NodePool } from './types.ts';

/** Prefix of the default selector label. */
export const ROLE_PREFIX = 'node-role.kubernetes.io/';

/** A node belongs to the pool when its labels contain all of these. Default: `node-role.kubernetes.io/<pool>: ""`. */
export function membershipSelector(pool: NodePool): Record<string, string> {
  return pool.spec.nodeSelector ?? { [`${ROLE_PREFIX}${pool.metadata.name}`]: '' };
}

/** Whether the labels contain every pair of the selector. An empty selector matches nothing. */
export function matchesLabels(selector: Record<string, string>, labels: Record<string, string>): boolean {
  // Called for every node, so it does not build a list of pairs.
  let isEmpty = true;
  for (const key in selector) {
    if (own(labels, key) !== selector[key]) return false;
    isEmpty = false;
  }
  return !isEmpty;
}

/** False when a part of the selector could not be read; then it is unknown which nodes belong to the pool. */
export function isSelectorKnown({ unreadable = [] }: NodePool): boolean {
  return !unreadable.some(({ field }) => field === 'spec' || field.startsWith('spec.nodeSelector'));
}
