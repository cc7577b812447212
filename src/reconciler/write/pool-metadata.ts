/** Guarded writes of a pool's metadata: the finalizer, and the state of the takeover of an inherited pool. */
import { conflictDelay } from '../../controller/backoff.ts';
import type { PoolWrite } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual } from '../../nodepool/json.ts';
import { type Takeover, takeoverOf } from '../../nodepool/membership/membership.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import { FINALIZER, type NodePool, type NodePoolStatus, TAKEOVER_ANNOTATION } from '../../nodepool/types.ts';
import { assertMetadataFree, assertUncontested, type MetadataField, metadataWritten } from '../limits/write-limits.ts';
import type { ReconcilerOptions } from '../options.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { notDeleted, RestoredError, readPool, stillExistsError } from '../state/live-reads.ts';
import { poolAlteredError } from './altered.ts';

const FINALIZER_FIELD: MetadataField = { name: `finalizer ${FINALIZER}`, path: ['metadata', 'finalizers'] };

const MAX_ATTEMPTS = 20;

/** The pool with its finalizer; undefined if it is gone or was replaced. Throws NodepoolError. */
export async function addFinalizer(pool: NodePool, options: ReconcilerOptions): Promise<NodePool | undefined> {
  return editPool(pool, FINALIZER_FIELD, options, current => {
    const { finalizers = [], deletionTimestamp } = current.metadata;
    // The server accepts no new finalizer on a pool that is being deleted.
    if (finalizers.includes(FINALIZER) || deletionTimestamp !== undefined) return undefined;
    return () => setFinalizers(current, [...finalizers, FINALIZER], options);
  });
}

/** Removes the finalizer of a deleted pool. A dry run sets its deletionTimestamp only in the cluster state. */
export async function dropFinalizer(pool: NodePool, options: ReconcilerOptions): Promise<void> {
  // The last write of a pool is not rate limited.
  const { writeLimiter: _writeLimiter, ...unlimited } = options;
  await editPool(pool, FINALIZER_FIELD, unlimited, current => {
    const { finalizers = [], deletionTimestamp } = current.metadata;
    if (deletionTimestamp === undefined && !options.cluster.isDryRun) throw notDeleted(current);
    if (!finalizers.includes(FINALIZER)) return undefined;
    const others = finalizers.filter(finalizer => finalizer !== FINALIZER);
    return () => setFinalizers(current, others, options);
  });
  options.state.removePool(pool.metadata.name, pool.metadata.uid);
}

/** On conflict, calls `neededWrite` again. Throws WriteError if something keeps undoing the write. */
export async function editPool(
  pool: NodePool,
  field: MetadataField,
  options: ReconcilerOptions,
  neededWrite: (current: NodePool) => (() => Promise<PoolWrite>) | undefined,
): Promise<NodePool | undefined> {
  const { name, uid } = pool.metadata;
  let current = pool;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const write = neededWrite(current);
    if (write === undefined) {
      assertUncontested(current, field, options);
      return current;
    }
    await assertMetadataFree(current, field, options);
    const written = await writePool(current, write, options);
    if (written.kind === 'written') {
      metadataWritten(current, field, options);
      options.state.setPool(written.pool);
      assertUncontested(current, field, options);
      return written.pool;
    }
    await options.sleep(conflictDelay(attempt));
    const latest = await readPool(name, uid, options);
    // Another pool of that name must not be written.
    if (latest === undefined || latest.metadata.uid !== uid) return undefined;
    assertWhole(latest);
    if (written.kind === 'gone') throw stillExistsError(`cannot patch NodePool "${name}"`);
    current = latest;
  }
  throw new NodepoolError('cluster', `cannot patch NodePool "${name}": the server keeps answering with a conflict`);
}

/** Throws NodepoolError if the server stored other finalizers. */
async function setFinalizers(pool: NodePool, finalizers: string[], { cluster }: ReconcilerOptions): Promise<PoolWrite> {
  const write = await cluster.pools.setFinalizers(pool, finalizers);
  const isAltered = write.kind === 'written' && !deepEqual(write.pool.metadata.finalizers ?? [], finalizers);
  if (isAltered) throw poolAlteredError(`the finalizers of pool ${pool.metadata.name} were`);
  return write;
}

// Takes over pools of the earlier operator (docs/decisions/0004-inherited-pools.md). The annotation is set before the
// first record is written and after the last node was tried: the next run finishes an interrupted one, and a node that
// joins afterwards keeps its earlier labels and taints.

const TAKEOVER_FIELD: MetadataField = {
  name: `annotation ${TAKEOVER_ANNOTATION}`,
  path: ['metadata', 'annotations', TAKEOVER_ANNOTATION],
};

/** Whether the pool is ready for node writes: it has the finalizer and, if inherited, the annotation. */
export function isPrepared(pool: NodePool, state: ClusterState): boolean {
  const { finalizers = [], name } = pool.metadata;
  return finalizers.includes(FINALIZER) && (!state.poolIndex.isInherited(name) || takeoverOf(pool) !== undefined);
}

/** As addFinalizer(), with the annotation that a pool of the earlier operator needs. */
export async function prepare(pool: NodePool, options: ReconcilerOptions): Promise<NodePool | undefined> {
  const { name } = pool.metadata;
  const isInherited = options.state.poolIndex.isInherited(name);
  const withFinalizer = await addFinalizer(pool, options);
  if (
    withFinalizer === undefined ||
    withFinalizer.metadata.uid !== pool.metadata.uid ||
    !options.state.poolIndex.isInherited(name)
  )
    return withFinalizer;
  // A pool without a finalizer was not that operator's, even if its status looks so.
  return setTakeover(withFinalizer, isInherited ? 'started' : 'finished', options);
}

/** Every node was tried. Does not wait for failed nodes: joining nodes would lose their own labels and taints. */
export async function endTakeover(pool: NodePool, options: ReconcilerOptions): Promise<NodePool> {
  const current = options.state.pool(pool.metadata.name);
  if (current === undefined || current.metadata.uid !== pool.metadata.uid || takeoverOf(current) !== 'started')
    return pool;
  const annotated = await setTakeover(current, 'finished', options);
  // The computed status belongs only to the spec of this generation.
  return annotated !== undefined && annotated.metadata.generation === pool.metadata.generation ? annotated : pool;
}

/** Annotates a pool whose stored status does not show that this program reconciled it. @param status as sent */
export async function finishTakeover(
  name: string,
  status: NodePoolStatus | undefined,
  options: ReconcilerOptions,
): Promise<void> {
  const pool = options.state.pool(name);
  if (pool === undefined || status?.observedGeneration === undefined) return;
  const isKnown = takeoverOf(pool) === undefined && pool.status?.observedGeneration !== undefined;
  if (!isKnown) await setTakeover(pool, 'finished', options);
}

function setTakeover(pool: NodePool, value: Takeover, options: ReconcilerOptions): Promise<NodePool | undefined> {
  return editPool(pool, TAKEOVER_FIELD, options, current => {
    const isDone = takeoverOf(current) === value || current.metadata.deletionTimestamp !== undefined;
    return isDone ? undefined : () => annotate(current, value, options);
  });
}

/** Throws NodepoolError if the server stored another value: it would be written again before every node. */
async function annotate(pool: NodePool, value: Takeover, { cluster }: ReconcilerOptions): Promise<PoolWrite> {
  const write = await cluster.pools.annotate(pool, TAKEOVER_ANNOTATION, value);
  if (write.kind === 'written' && takeoverOf(write.pool) !== value)
    throw poolAlteredError(`annotation ${TAKEOVER_ANNOTATION} of pool ${pool.metadata.name} was`);
  return write;
}

// A guarded write of a pool: the server rejects it if its spec differs from the known one.

/** The server reports a failed test of the spec as an invalid object: if the spec was edited, it is a conflict. */
export async function writePool(
  pool: NodePool,
  send: () => Promise<PoolWrite>,
  options: ReconcilerOptions,
): Promise<PoolWrite> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof NodepoolError) || error.isTransient || error.isGeneral) throw error;
    const { name, uid } = pool.metadata;
    const latest = await readPool(name, uid, options).catch((failed: unknown) => {
      if (!(failed instanceof NodepoolError) || failed instanceof RestoredError) throw failed;
      return undefined;
    });
    if (latest === undefined) throw error;
    assertWhole(latest);
    if (latest.metadata.uid === uid && deepEqual(latest.spec, pool.spec)) throw error;
    return { kind: 'conflict' };
  }
}
