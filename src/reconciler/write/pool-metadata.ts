/**
 * Guarded writes of a pool's metadata: the finalizer, which keeps a deleted pool until its nodes are released, and the annotation
 * that says how far the takeover of an inherited pool is.
 */
import { conflictDelay } from '../../controller/backoff.ts';
import type { ClusterPort, PoolWrite } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual } from '../../nodepool/json.ts';
import { type Takeover, takeoverOf } from '../../nodepool/membership/membership.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import { FINALIZER, type NodePool, type NodePoolStatus, TAKEOVER_ANNOTATION } from '../../nodepool/types.ts';
import type { WriteRateLimiter } from '../limits/rate-limiters.ts';
import { assertMetadataFree, assertUncontested, type MetadataField, metadataWritten } from '../limits/write-limits.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { type LiveReadDeps, notDeleted, readPool, stillExistsError } from '../state/live-reads.ts';

export interface PoolEditDeps {
  cluster: ClusterPort;
  state: ClusterState;
  /** Between two attempts after a conflict. */
  sleep: (ms: number) => Promise<void>;
  /** Limits how often each field is written; without it every write is sent at once. */
  writeLimiter?: WriteRateLimiter;
}

const FINALIZER_FIELD: MetadataField = { name: `finalizer ${FINALIZER}`, path: ['metadata', 'finalizers'] };

const MAX_ATTEMPTS = 20;

/**
 * The pool with its finalizer, or as it is when it is being deleted; undefined when it is gone, or another has its name.
 * The state follows. Throws NodepoolError.
 */
export async function addFinalizer(pool: NodePool, deps: PoolEditDeps): Promise<NodePool | undefined> {
  return editPool(pool, FINALIZER_FIELD, deps, current => {
    const { finalizers = [], deletionTimestamp } = current.metadata;
    // The server accepts no new finalizer on a pool that is being deleted.
    if (finalizers.includes(FINALIZER) || deletionTimestamp !== undefined) return undefined;
    return () => setFinalizers(current, [...finalizers, FINALIZER], deps);
  });
}

/** Removes the finalizer of a deleted pool. In a dry run, the pool has its deletionTimestamp in the cluster state alone. */
export async function dropFinalizer(pool: NodePool, deps: PoolEditDeps): Promise<void> {
  // The last write of a pool is not rate limited.
  const { writeLimiter: _writeLimiter, ...unlimited } = deps;
  await editPool(pool, FINALIZER_FIELD, unlimited, current => {
    const { finalizers = [], deletionTimestamp } = current.metadata;
    if (deletionTimestamp === undefined && !deps.cluster.isDryRun) throw notDeleted(current);
    if (!finalizers.includes(FINALIZER)) return undefined;
    const others = finalizers.filter(finalizer => finalizer !== FINALIZER);
    return () => setFinalizers(current, others, deps);
  });
  deps.state.removePool(pool.metadata.name, pool.metadata.uid);
}

/**
 * Writes the pool as it is now; on conflict, reads it and calls `due` again. Returns what addFinalizer() returns. Throws
 * NodeWriteError where something else keeps undoing the write.
 * @param due the write that the pool needs; undefined when it needs none
 */
export async function editPool(
  pool: NodePool,
  field: MetadataField,
  deps: PoolEditDeps,
  due: (current: NodePool) => (() => Promise<PoolWrite>) | undefined,
): Promise<NodePool | undefined> {
  const { name, uid } = pool.metadata;
  let current = pool;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const write = due(current);
    if (write === undefined) {
      assertUncontested(current, field, deps);
      return current;
    }
    await assertMetadataFree(current, field, deps);
    const written = await writePool(current, write, deps);
    if (written.kind === 'written') {
      metadataWritten(current, field, deps);
      deps.state.setPool(written.pool);
      assertUncontested(current, field, deps);
      return written.pool;
    }
    await deps.sleep(conflictDelay(attempt));
    const latest = await readPool(name, uid, deps);
    // Another pool of that name is not this one's to write.
    if (latest === undefined || latest.metadata.uid !== uid) return undefined;
    assertWhole(latest);
    if (written.kind === 'gone') throw stillExistsError(`cannot patch NodePool "${name}"`);
    current = latest;
  }
  throw new NodepoolError('cluster', `cannot patch NodePool "${name}": the cluster keeps answering conflict`);
}

/** Throws NodepoolError when the server stored others than it was sent. */
async function setFinalizers(pool: NodePool, finalizers: string[], { cluster }: PoolEditDeps): Promise<PoolWrite> {
  const write = await cluster.pools.setFinalizers(pool, finalizers);
  const isAltered = write.kind === 'written' && !deepEqual(write.pool.metadata.finalizers ?? [], finalizers);
  if (isAltered) throw poolAlteredError(`the finalizers of nodepool ${pool.metadata.name} were`);
  return write;
}

/** @param what what the write sent, as `the finalizers of nodepool a were` */
export function poolAlteredError(what: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `${what} changed by an admission policy or webhook during the write`,
    'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`',
  );
}

// Takes pools of the earlier operator over (docs/decisions/0004-inherited-pools.md). The pool is marked before the first
// record is written and after the last node was tried: the next run finishes one that was killed in between, and a
// node that joins afterwards keeps the labels and taints that it had before.

const TAKEOVER_FIELD: MetadataField = {
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
  const withFinalizer = await addFinalizer(pool, deps);
  if (
    withFinalizer === undefined ||
    withFinalizer.metadata.uid !== pool.metadata.uid ||
    !deps.state.poolIndex.isInherited(name)
  )
    return withFinalizer;
  // A pool that had no finalizer before was not that operator's, even if its status looks so.
  return mark(withFinalizer, isInherited ? 'started' : 'finished', deps);
}

/**
 * Ends the takeover, if one is in progress: every node was tried, and one that could not be written keeps what it has. It
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
  return editPool(pool, TAKEOVER_FIELD, deps, current => {
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

// A guarded write of a pool: the server refuses it where its spec differs from the one that is known here.

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
