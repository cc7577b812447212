import { own } from './json.ts';
import type { NodePool } from './types.ts';

/** Of the labels by which nodes belong to a pool, unless it has a nodeSelector. */
export const ROLE_PREFIX = 'node-role.kubernetes.io/';

/** Every node whose labels contain these belongs to the pool. Default: `node-role.kubernetes.io/<pool>: ""`. */
export function membershipSelector(pool: NodePool): Record<string, string> {
  return pool.spec.nodeSelector ?? { [`${ROLE_PREFIX}${pool.metadata.name}`]: '' };
}

/** Whether the labels contain every pair of the selector. An empty selector matches nothing, never everything. */
export function matchesLabels(selector: Record<string, string>, labels: Record<string, string>): boolean {
  // Asked for every node: no list of pairs.
  let isEmpty = true;
  for (const key in selector) {
    if (own(labels, key) !== selector[key]) return false;
    isEmpty = false;
  }
  return !isEmpty;
}

/** False when something of the selector could not be read: nobody knows then which nodes the pool is meant to have. */
export function isSelectorKnown({ unreadable = [] }: NodePool): boolean {
  return !unreadable.some(({ field }) => field === 'spec' || field.startsWith('spec.nodeSelector'));
}
