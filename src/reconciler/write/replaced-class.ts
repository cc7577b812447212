/**
 * Keeps what others set on a RuntimeClass, in an annotation on its pool, from before it is deleted until the next one is created:
 * killed in between, the next run creates it with that. A RuntimeClass on which others set nothing costs no write.
 */

import type { PoolWrite } from '../../kube/cluster.ts';
import { type ClassRest, formatRest } from '../../nodepool/plan/class-rest.ts';
import { type NodePool, REPLACED_ANNOTATION } from '../../nodepool/types.ts';
import type { MetadataField } from '../limits/metadata-rate-limit.ts';
import { editPool, type PoolEditDeps, poolAlteredError } from './finalizer.ts';

const FIELD: MetadataField = {
  name: `annotation ${REPLACED_ANNOTATION}`,
  path: ['metadata', 'annotations', REPLACED_ANNOTATION],
};

/** Throws NodepoolError when it cannot be kept: the RuntimeClass is not to be deleted then. */
export async function keepRest(pool: NodePool, rest: ClassRest | undefined, deps: PoolEditDeps): Promise<void> {
  await annotate(pool, rest && formatRest(rest, pool.metadata.uid ?? ''), deps);
}

/** Called once the RuntimeClass is as the pool has it, whoever created it. Throws NodepoolError. */
export async function forgetRest(pool: NodePool, deps: PoolEditDeps): Promise<void> {
  await annotate(pool, undefined, deps);
}

/** A pool that is being deleted takes the annotation with it. @param value undefined removes it */
async function annotate(pool: NodePool, value: string | undefined, deps: PoolEditDeps): Promise<void> {
  const { cluster, state } = deps;
  const { name, uid } = pool.metadata;
  const isDone = ({ metadata }: NodePool) =>
    metadata.deletionTimestamp !== undefined || metadata.annotations?.[REPLACED_ANNOTATION] === value;
  const known = state.pool(name);
  if (known === undefined || known.metadata.uid !== uid || isDone(known)) return;
  const write = async (current: NodePool): Promise<PoolWrite> => {
    const written = await cluster.pools.annotate(current, REPLACED_ANNOTATION, value);
    if (written.kind === 'written' && !isDone(written.pool))
      throw poolAlteredError(`annotation ${REPLACED_ANNOTATION} of nodepool ${name} was`);
    return written;
  };
  await editPool(known, FIELD, deps, current => (isDone(current) ? undefined : () => write(current)));
}
