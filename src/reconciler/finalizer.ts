/** The finalizer keeps a deleted pool until its nodes are released. */
import { deepEqual } from '../nodepool/merge-patch.ts';
import { FINALIZER, type NodePool } from '../nodepool/types.ts';
import type { ClusterPort } from './ports.ts';
import type { View } from './view.ts';

/** The pool with its finalizer, or as it is when it is being deleted; undefined when it is gone. The view follows. */
export async function addFinalizer(pool: NodePool, cluster: ClusterPort, view: View): Promise<NodePool | undefined> {
  return edit(pool, cluster, view, ({ finalizers = [], deletionTimestamp }) =>
    // The server accepts no new finalizer on a pool that is being deleted.
    finalizers.includes(FINALIZER) || deletionTimestamp !== undefined ? finalizers : [...finalizers, FINALIZER],
  );
}

/** Lets a deleted pool go. */
export async function dropFinalizer(pool: NodePool, cluster: ClusterPort, view: View): Promise<void> {
  await edit(pool, cluster, view, ({ finalizers = [] }) => finalizers.filter(finalizer => finalizer !== FINALIZER));
  view.removePool(pool.metadata.name);
}

async function edit(
  pool: NodePool,
  cluster: ClusterPort,
  view: View,
  change: (metadata: NodePool['metadata']) => string[],
): Promise<NodePool | undefined> {
  let current: NodePool | undefined = pool;
  while (current !== undefined) {
    const finalizers = change(current.metadata);
    if (deepEqual(current.metadata.finalizers ?? [], finalizers)) return current;
    const write = await cluster.setFinalizers(current, finalizers);
    if (write.kind === 'gone') break;
    current = write.kind === 'written' ? write.pool : await cluster.getPool(pool.metadata.name);
    if (current !== undefined) view.setPool(current);
    if (write.kind === 'written') return current;
  }
  view.removePool(pool.metadata.name);
  return undefined;
}
