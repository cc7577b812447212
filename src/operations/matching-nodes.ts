/** How many nodes match pools that were never reconciled, whose status does not say it. */
import { isSelectorKnown, matchesLabels, membershipSelector } from '../nodepool/selector.ts';
import type { NodePool } from '../nodepool/types.ts';
import { attempt } from './attempt.ts';
import type { Connection } from './ports.ts';

/**
 * By the pool's name. Requests nothing if each pool has a status, and one list of nodes at most. Pools whose nodes cannot be
 * counted (no permission) are left out. @param pools coerced
 */
export async function matchingNodes(
  pools: readonly NodePool[],
  { nodeLabels }: Pick<Connection, 'nodeLabels'>,
): Promise<Map<string, number>> {
  const pending = pools.filter(pool => pool.status?.nodeCount === undefined && isSelectorKnown(pool));
  const selectors = new Map(pending.map(pool => [pool.metadata.name, membershipSelector(pool)]));
  // An empty selector matches no node; the server would take it for all.
  const [first, ...more] = [...selectors.values()].filter(selector => Object.keys(selector).length > 0);
  // One pool's nodes are fewer than all; of several pools, a list for each would be more.
  const asked = first === undefined || more.length > 0 ? undefined : selectorText(first);
  const nodes = first === undefined ? { value: [] } : await attempt(() => nodeLabels(asked));
  const count = (selector: Record<string, string>): number[] => {
    if (Object.keys(selector).length === 0) return [0];
    return 'value' in nodes ? [nodes.value.filter(labels => matchesLabels(selector, labels)).length] : [];
  };
  return new Map([...selectors].flatMap(([name, selector]) => count(selector).map(found => [name, found] as const)));
}

function selectorText(selector: Record<string, string>): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}
