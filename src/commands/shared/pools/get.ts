/** Reads pools as the server has them. */

import type { NodePoolsClient } from '../../../kube/cluster.ts';
import type { RawPool } from '../../../kube/connection.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { type NamesDeps, namesToSuggest, poolsNotFound } from './not-found.ts';
import { selectorError } from './selector-error.ts';

export interface GetOptions {
  /** Empty: all. */
  names: string[];
  /** A label selector, as the server takes it. */
  selector: string | undefined;
  /** A field selector, as the server takes it. */
  fieldSelector: string | undefined;
  /** Ignore pools that are not found. */
  ignoreNotFound: boolean;
}

/** Pools in the order asked for, or by name; the names that do not exist as errors, so that the others still show. */
export async function getPools(
  { names, selector, fieldSelector, ignoreNotFound }: GetOptions,
  deps: NamesDeps & { pools: Pick<NodePoolsClient, 'get' | 'list'> },
): Promise<{ pools: RawPool[]; missing: NodepoolError[] }> {
  if (names.length > 0 && (selector !== undefined || fieldSelector !== undefined)) {
    const flag = selector === undefined ? '--field-selector' : '-l';
    throw new NodepoolError('usage', `names and ${flag} exclude each other`, 'give one of the two');
  }
  if (names.length === 0) {
    return { pools: await listPools(selector, fieldSelector, deps.pools), missing: [] };
  }
  const found = await Promise.all(names.map(name => deps.pools.get(name)));
  const missing = ignoreNotFound ? [] : names.filter((_, index) => found[index] === undefined);
  return {
    pools: found.filter(pool => pool !== undefined),
    missing: poolsNotFound('get', missing, await namesToSuggest('get', missing, deps)),
  };
}

/** By name. Throws a usage error that quotes the selector which the server rejects. */
export async function listPools(
  labelSelector: string | undefined,
  fieldSelector: string | undefined,
  pools: Pick<NodePoolsClient, 'list'>,
): Promise<RawPool[]> {
  try {
    const listed = await pools.list({ labelSelector, fieldSelector });
    return listed.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  } catch (error) {
    if (labelSelector === undefined && fieldSelector === undefined) throw error;
    const isLabels =
      labelSelector !== undefined &&
      (fieldSelector === undefined || !(error instanceof Error && /field/.test(error.message)));
    if (isLabels) throw selectorError(error, '-l', labelSelector);
    const next = 'the server selects pools by metadata.name; filter others with -o jsonpath';
    throw selectorError(error, '--field-selector', fieldSelector ?? '', next);
  }
}
