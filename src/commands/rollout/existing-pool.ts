/** Reads a pool that has to exist. */
import type { NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { type NamesDeps, namesToSuggest, poolNotFound } from '../shared/pools/not-found.ts';

/** @param command that needs it, for the error, which suggests similar names. Throws NodepoolError. */
export async function existingPool(
  command: string,
  name: string,
  cluster: NamesDeps & { pools: Pick<NodePoolsClient, 'get'> },
): Promise<RawPool> {
  const pool = await cluster.pools.get(name);
  if (pool !== undefined) return pool;
  throw poolNotFound(command, [name], await namesToSuggest(command, [name], cluster));
}
