/** Reads a pool that has to exist. */
import type { NodePoolsClient } from '../reconciler/ports.ts';
import { namesToSuggest, poolNotFound } from './not-found.ts';
import type { RawPool } from './ports.ts';

/** @param command that needs it, for the error, which suggests similar names. Throws NodepoolError. */
export async function existingPool(
  command: string,
  name: string,
  pools: Pick<NodePoolsClient, 'get' | 'firstNames'>,
): Promise<RawPool> {
  const pool = await pools.get(name);
  if (pool !== undefined) return pool;
  throw poolNotFound(command, [name], { pools: await namesToSuggest(command, [name], pools) });
}
