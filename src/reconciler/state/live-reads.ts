/** A server also answers 404 to a write if it does not serve the subresource: a read makes the difference (0029). */
import { isOlder } from '../../controller/resource-version.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual } from '../../nodepool/json.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import type { ReconcilerOptions } from '../options.ts';

/** Undefined if no pool has the name. Throws RestoredError if the server's is older. @param uid of the known pool */
export async function readPool(
  name: string,
  uid: string | undefined,
  { cluster, state }: ReconcilerOptions,
): Promise<NodePool | undefined> {
  const [known, readTime] = [state.pool(name), state.beginRead()];
  const pool = await cluster.pools.getCoerced(name);
  if (pool === undefined) {
    state.removePool(name, uid);
    return undefined;
  }
  assertNotRestored(known, pool);
  state.setPool(pool, readTime);
  return pool;
}

/** Whether a pool that was read again is to be reconciled as before. */
export function isSamePool({ metadata, spec }: NodePool, latest: NodePool | undefined): boolean {
  const { uid, deletionTimestamp } = latest?.metadata ?? {};
  return uid === metadata.uid && deletionTimestamp === metadata.deletionTimestamp && deepEqual(latest?.spec, spec);
}

/** Undefined if no node has the name. @param uid of the known node */
export async function readNode(
  name: string,
  uid: string,
  { cluster, state }: ReconcilerOptions,
): Promise<Node | undefined> {
  const readTime = state.beginRead();
  const node = await cluster.nodes.get(name);
  if (node === undefined) state.removeNode(name, uid);
  else state.setNode(node, readTime);
  return node;
}

/** @param cannot the failed write, as `cannot patch Node "a"` */
export function stillExistsError(cannot: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `${cannot}: the server answered "not found", but a read still finds the object`,
    'check for a proxy in front of the API server; use -v 8 to see the request and the answer',
  );
}

/** The pool's UID differs from the one shown to the user. @param action what was to be done, as `edited` */
export function recreatedError(pool: string, action: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `somebody else deleted and recreated pool ${pool}; the new pool is not changed`,
    `if the new pool should also be ${action}, run the command again`,
  );
}

/** The server's answer is the same as for a pool that does not exist, but a read found this pool. */
export function noStatusSubresource(pool: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `cannot patch the status of NodePool "${pool}": the CRD nodepools.nodes.lailin.xyz serves no status subresource`,
    'run `kubectl nodepool install`',
  );
}

// Detects that the server has an older version of a pool than the cluster state, because etcd was restored from a
// backup. A read is answered from etcd, so it is at least as new as the known version at its start.
//
// The cluster state keeps the newer version until the caches detect the restore and list everything again
// (controller/restore-detector.ts). A new plan would read the older version again, without a pause: so the reconcile
// fails, and is retried with backoff.

export class RestoredError extends NodepoolError {
  constructor(message: string, next: string) {
    super('cluster', `${message} (etcd was restored)`, next);
  }
}

/** Throws RestoredError. @param known in the cluster state when the read of `pool` began */
export function assertNotRestored(known: NodePool | undefined, pool: NodePool): void {
  const { name, resourceVersion = '', deletionTimestamp } = pool.metadata;
  if (known === undefined || !isOlder(resourceVersion, known.metadata.resourceVersion ?? '')) return;
  if (known.metadata.deletionTimestamp !== undefined && deletionTimestamp === undefined) throw notDeleted(pool);
  throw new RestoredError(
    `the server returned an older version of pool ${name} than before`,
    `run \`kubectl nodepool reconcile ${name}\``,
  );
}

/** The known pool has a deletionTimestamp, which only a restore of etcd removes. */
export function notDeleted({ metadata: { name } }: NodePool): RestoredError {
  return new RestoredError(
    `pool ${name} is no longer being deleted: its deletionTimestamp is gone`,
    `run \`kubectl nodepool reconcile ${name}\`, or delete the pool again`,
  );
}
