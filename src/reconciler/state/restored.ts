/**
 * Notices that the server has an older version of a pool than the cluster state: etcd was restored from a backup. A read is
 * answered from etcd, so it is at least as new as what was known when it began.
 *
 * The cluster state keeps the newer one until the caches notice and all is listed again (controller/history.ts). Whoever planned
 * again meanwhile would read the older one again, without a pause: so the reconcile fails, and is retried with backoff.
 */
import { isOlder } from '../../controller/resource-version.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { NodePool } from '../../nodepool/types.ts';

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
    `the server has an older version of nodepool ${name} than it had before`,
    `run \`kubectl nodepool reconcile ${name}\``,
  );
}

/** The pool was seen with a deletionTimestamp, which only a restore of etcd removes. */
export function notDeleted({ metadata: { name } }: NodePool): RestoredError {
  return new RestoredError(
    `nodepool ${name} is not being deleted any more: it had a deletionTimestamp, and the server now has it without one`,
    `run \`kubectl nodepool reconcile ${name}\`, or delete it again`,
  );
}
