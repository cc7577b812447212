/** Patches of a pool that somebody else may change at the same time. */

import type { DryRun, NodePoolsClient, RawPool } from '../../../kube/cluster.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { fieldErrors } from '../../../nodepool/spec/field-error.ts';
import { poolNotFound } from '../pools/not-found.ts';
import { alteredPool } from './altered-pool.ts';

/** Attempts after conflicts: an edit is applied again to the pool as it is then. */
export const MAX_ATTEMPTS = 10;

/** The server refuses the patch when the pool is no longer the one that was read. */
export function guarded(patch: Record<string, unknown>, read: RawPool): Record<string, unknown> {
  const metadata = (patch.metadata ?? {}) as Record<string, unknown>;
  return { ...patch, metadata: { ...metadata, resourceVersion: read.metadata.resourceVersion } };
}

interface PoolPatch {
  before: RawPool;
  /** With the patch. */
  after: RawPool;
  /** Undefined: there is nothing to write. */
  patch: Record<string, unknown> | undefined;
}

/**
 * Writes what is proposed, and asks for another proposal when somebody else has changed the pool since it was read. Returns
 * the pool as it is now, or would be. Throws NodepoolError, also where the server stored something else.
 * @param command names itself when the pool is gone
 * @param propose reads the pool again
 */
export async function patchPool<T extends PoolPatch>(
  name: string,
  command: string,
  { pools, dryRun }: { pools: Pick<NodePoolsClient, 'patch'>; dryRun: DryRun },
  propose: () => Promise<T>,
): Promise<T & { pool: RawPool }> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const proposal = await propose();
    const { before, after, patch } = proposal;
    if (patch === undefined) return { ...proposal, pool: before };
    if (dryRun === 'client') return { ...proposal, pool: after };
    const write = await pools.patch(name, guarded(patch, before));
    if (write.kind === 'gone') throw poolNotFound(command, [name]);
    if (write.kind === 'conflict') continue;
    const altered = alteredPool(after, write.pool, before);
    if (altered !== undefined) throw altered;
    const { unreadable } = coercePool(write.pool);
    if (unreadable !== undefined && coercePool(after).unreadable === undefined)
      throw fieldErrors(`nodepool ${name} as the server answered it`, unreadable);
    return { ...proposal, pool: write.pool };
  }
  throw new NodepoolError('cluster', `cannot edit nodepool ${name}: somebody else keeps changing it`, 'try again');
}
