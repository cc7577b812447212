/** Adds and removes the finalizer, which keeps a deleted pool until its nodes are released. */
import type { PoolWrite } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual } from '../../nodepool/merge-patch.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import { FINALIZER, type NodePool } from '../../nodepool/types.ts';
import { conflictDelay } from '../limits/limiters.ts';
import {
  assertMetadataFree,
  assertUncontested,
  type MetadataField,
  metadataWritten,
} from '../limits/metadata-rate-limit.ts';
import type { WriteRateLimiter } from '../limits/write-rate-limiter.ts';
import { type LiveReadDeps, notDeleted, readPool, stillExistsError } from '../state/live-reads.ts';
import { writePool } from './pool-write.ts';

export interface PoolEditDeps extends LiveReadDeps {
  sleep: (ms: number) => Promise<void>;
  /** See metadata-rate-limit.ts; without it every write is sent at once. */
  writeLimiter?: WriteRateLimiter;
}

const FIELD: MetadataField = { name: `finalizer ${FINALIZER}`, path: ['metadata', 'finalizers'] };

const MAX_ATTEMPTS = 20;

/**
 * The pool with its finalizer, or as it is when it is being deleted; undefined when it is gone, or another has its name.
 * The state follows. Throws NodepoolError.
 */
export async function addFinalizer(pool: NodePool, deps: PoolEditDeps): Promise<NodePool | undefined> {
  return editPool(pool, FIELD, deps, current => {
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
  await editPool(pool, FIELD, unlimited, current => {
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
    await deps.sleep(conflictDelay(attempt, Math.random()));
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
