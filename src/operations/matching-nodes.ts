/** How many nodes match pools that were never reconciled, whose status does not say it. */
import { isSelectorKnown, membershipSelector } from '../nodepool/selector.ts';
import type { NodePool } from '../nodepool/types.ts';
import { attempt } from './attempt.ts';
import type { Connection } from './ports.ts';

/**
 * By the pool's name. Requests nothing if each pool has a status. Pools whose nodes cannot be counted (no permission) are
 * left out. @param pools coerced
 */
export async function matchingNodes(
  pools: readonly NodePool[],
  { countNodes }: Pick<Connection, 'countNodes'>,
): Promise<Map<string, number>> {
  const pending = pools.filter(pool => pool.status?.nodeCount === undefined && isSelectorKnown(pool));
  const counts = await Promise.all(pending.map(pool => countOf(membershipSelector(pool), countNodes)));
  const found = pending.map(({ metadata }, i) => [metadata.name, counts[i]] as const);
  return new Map(found.flatMap(([name, count]) => (count === undefined ? [] : [[name, count] as const])));
}

async function countOf(
  selector: Record<string, string>,
  countNodes: Connection['countNodes'],
): Promise<number | undefined> {
  const pairs = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  // An empty selector matches no node; the server would take it for all.
  if (pairs.length === 0) return 0;
  const counted = await attempt(() => countNodes(pairs.join(',')));
  return 'value' in counted ? counted.value : undefined;
}
