/** How many nodes match pools that were never reconciled, whose status does not say it. */

import type { Connection, LabelledNode } from '../../../kube/connection.ts';
import { isSelectorKnown } from '../../../nodepool/membership/known-selector.ts';
import {
  isEmpty,
  matches,
  membershipSelector,
  type Selector,
  selectorText,
} from '../../../nodepool/membership/selector.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { type Attempt, attempt } from '../attempt.ts';

/**
 * By the pool's name. Requests nothing if each pool has a status, and one list of nodes at most. Pools whose nodes cannot be
 * counted (no permission, an invalid selector) are left out. @param pools coerced
 */
export async function matchingNodes(
  pools: readonly NodePool[],
  { nodeLabels }: Pick<Connection, 'nodeLabels'>,
): Promise<Map<string, number>> {
  const pending = pools.filter(pool => pool.status?.nodeCount === undefined && isSelectorKnown(pool));
  const selectors = new Map(pending.map(pool => [pool.metadata.name, membershipSelector(pool)]));
  const nodes = await labelsOfMatching([...selectors.values()], { nodeLabels });
  if ('refusal' in nodes) return new Map();
  const count = (selector: Selector) => nodes.value.filter(({ labels }) => matches(selector, labels)).length;
  return new Map([...selectors].map(([name, selector]) => [name, count(selector)]));
}

/** The nodes that one of the selectors matches, and perhaps others. One request at most. */
export async function labelsOfMatching(
  selectors: readonly Selector[],
  { nodeLabels }: Pick<Connection, 'nodeLabels'>,
): Promise<Attempt<LabelledNode[]>> {
  // An empty selector matches no node; the server would take it for all.
  const [first, ...more] = selectors.filter(selector => !isEmpty(selector));
  if (first === undefined) return { value: [] };
  // One pool's nodes are fewer than all; of several pools, a list for each would be more.
  return attempt(() => nodeLabels(more.length > 0 ? undefined : selectorText(first)));
}
