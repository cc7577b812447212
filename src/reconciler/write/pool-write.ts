/** A guarded write of a pool: the server refuses it where its spec differs from the one that is known here. */

import type { PoolWrite } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual } from '../../nodepool/merge-patch.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type LiveReadDeps, readPool } from '../state/live-reads.ts';

/**
 * Returns what the write returns. A write tests fields of the spec (kube/resources/node-pools.ts), and a test that fails is answered
 * like an invalid object: where the spec has been edited since, that is a conflict. Throws DroppedFieldsError where the
 * CRD was replaced.
 */
export async function writePool(
  pool: NodePool,
  send: () => Promise<PoolWrite>,
  deps: LiveReadDeps,
): Promise<PoolWrite> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof NodepoolError) || error.isTransient || error.isGeneral) throw error;
    const { name, uid } = pool.metadata;
    const latest = await readPool(name, uid, deps).catch(() => undefined);
    if (latest === undefined) throw error;
    assertWhole(latest);
    if (latest.metadata.uid === uid && deepEqual(latest.spec, pool.spec)) throw error;
    return { kind: 'conflict' };
  }
}
