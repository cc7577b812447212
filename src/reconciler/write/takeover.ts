/**
 * Takes pools of the earlier operator over (docs/decisions/0004-inherited-pools.md). The pool is marked before the first
 * record is written and after the last node was tried: the next run finishes one that was killed in between, and a
 * node that joins afterwards keeps the labels and taints that it had before.
 */

import type { PoolWrite } from '../../kube/cluster.ts';
import { type Takeover, takeoverOf } from '../../nodepool/status/takeover.ts';
import { FINALIZER, type NodePool, type NodePoolStatus, TAKEOVER_ANNOTATION } from '../../nodepool/types.ts';
import type { MetadataField } from '../limits/metadata-rate-limit.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { addFinalizer, editPool, type PoolEditDeps, poolAlteredError } from './finalizer.ts';

const FIELD: MetadataField = {
  name: `annotation ${TAKEOVER_ANNOTATION}`,
  path: ['metadata', 'annotations', TAKEOVER_ANNOTATION],
};

/** Whether the pool has what it needs before its nodes are written: finalizer and, if inherited, the annotation. */
export function isPrepared(pool: NodePool, state: ClusterState): boolean {
  const { finalizers = [], name } = pool.metadata;
  return finalizers.includes(FINALIZER) && (!state.poolIndex.isInherited(name) || takeoverOf(pool) !== undefined);
}

/** As addFinalizer(), with the annotation that a pool of the earlier operator needs. */
export async function prepare(pool: NodePool, deps: PoolEditDeps): Promise<NodePool | undefined> {
  const { name } = pool.metadata;
  const isInherited = deps.state.poolIndex.isInherited(name);
  const held = await addFinalizer(pool, deps);
  if (held === undefined || held.metadata.uid !== pool.metadata.uid || !deps.state.poolIndex.isInherited(name))
    return held;
  // A pool that had no finalizer before was not that operator's, even if its status looks so.
  return mark(held, isInherited ? 'started' : 'finished', deps);
}

/**
 * Ends the takeover, if one is under way: every node was tried, and one that could not be written keeps what it has. It
 * does not wait for that node, or for the status: nodes that join meanwhile would lose their own labels and taints.
 * @returns the pool as its status is to be written
 */
export async function endTakeover(pool: NodePool, deps: PoolEditDeps): Promise<NodePool> {
  const current = deps.state.pool(pool.metadata.name);
  if (current === undefined || current.metadata.uid !== pool.metadata.uid || takeoverOf(current) !== 'started')
    return pool;
  const marked = await mark(current, 'finished', deps);
  // The status that was computed belongs to the spec of this generation alone.
  return marked !== undefined && marked.metadata.generation === pool.metadata.generation ? marked : pool;
}

/**
 * Annotates a pool whose stored status does not show that it is ours.
 * @param status as it was sent
 */
export async function finishTakeover(
  name: string,
  status: NodePoolStatus | undefined,
  deps: PoolEditDeps,
): Promise<void> {
  const pool = deps.state.pool(name);
  if (pool === undefined || status?.observedGeneration === undefined) return;
  const isKnown = takeoverOf(pool) === undefined && pool.status?.observedGeneration !== undefined;
  if (!isKnown) await mark(pool, 'finished', deps);
}

function mark(pool: NodePool, value: Takeover, deps: PoolEditDeps): Promise<NodePool | undefined> {
  return editPool(pool, FIELD, deps, current => {
    const isDone = takeoverOf(current) === value || current.metadata.deletionTimestamp !== undefined;
    return isDone ? undefined : () => annotate(current, value, deps);
  });
}

/** Throws NodepoolError when the server stored another value: the annotation would be written again before every node. */
async function annotate(pool: NodePool, value: Takeover, { cluster }: PoolEditDeps): Promise<PoolWrite> {
  const write = await cluster.pools.annotate(pool, TAKEOVER_ANNOTATION, value);
  if (write.kind === 'written' && takeoverOf(write.pool) !== value)
    throw poolAlteredError(`annotation ${TAKEOVER_ANNOTATION} of nodepool ${pool.metadata.name} was`);
  return write;
}
