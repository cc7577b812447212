/**
 * POOL_LABEL on a node where no pool has set it: somebody else has, or the record was lost with the node's membership. Pods
 * of the RuntimeClass of the pool that it names can be scheduled there. No reconcile touches it, as it does with all labels
 * that are in no record.
 */
import { own } from '../json.ts';
import { type Node, type NodePool, POOL_LABEL } from '../types.ts';
import type { Ownership } from './membership.ts';
import { memberLabels } from './selector.ts';

/** Its value. Undefined: the node does not have it, or a pool has set it or will replace or remove it. */
export function strayPoolLabel(
  { labels }: Node,
  { record }: Pick<Ownership, 'record'>,
  owner: NodePool | undefined,
): string | undefined {
  const value = own(labels, POOL_LABEL);
  if (value === undefined || record?.labels.has(POOL_LABEL)) return undefined;
  const isDue = owner !== undefined && (owner.spec.unmanaged === 'Remove' || own(memberLabels(owner), POOL_LABEL));
  return isDue ? undefined : value;
}

/** An imperative without a trailing full stop. */
export function strayLabelRemedy(node: string): string {
  return `remove it: \`kubectl label node ${node} ${POOL_LABEL}-\``;
}
