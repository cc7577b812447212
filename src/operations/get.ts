/** Reads pools as the server has them. */
import { NodepoolError } from '../nodepool/errors.ts';
import { poolNotFound } from './load-view.ts';
import type { PoolsPort, RawPool } from './ports.ts';

export interface GetOptions {
  /** Empty: all. */
  names: string[];
  /** A label selector, as the server takes it. */
  selector: string | undefined;
}

/** Pools in the order asked for, or by name; the names that do not exist as errors, so that the others still show. */
export async function getPools(
  { names, selector }: GetOptions,
  deps: { pools: PoolsPort },
): Promise<{ pools: RawPool[]; missing: NodepoolError[] }> {
  if (names.length > 0 && selector !== undefined) {
    throw new NodepoolError('usage', 'names and -l exclude each other', 'give one of the two');
  }
  if (names.length === 0) {
    const pools = await listPools(selector, deps.pools);
    return { pools: pools.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)), missing: [] };
  }
  const found = await Promise.all(names.map(name => deps.pools.get(name)));
  return {
    pools: found.filter(pool => pool !== undefined),
    missing: names.filter((_, index) => found[index] === undefined).map(name => poolNotFound([name])),
  };
}

/** What the server finds wrong with a list request can only be the selector. */
async function listPools(selector: string | undefined, pools: PoolsPort): Promise<RawPool[]> {
  if (selector === undefined) return pools.list();
  try {
    return await pools.list({ labelSelector: selector });
  } catch (error) {
    if (!(error instanceof NodepoolError) || error.kind !== 'input') throw error;
    throw new NodepoolError('input', `-l "${selector}": ${error.message}`, 'write it like a=b,c!=d,e', {
      cause: error,
    });
  }
}
