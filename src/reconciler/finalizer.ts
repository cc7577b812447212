/** The finalizer keeps a deleted pool until its nodes are released. */
import { NodepoolError } from '../nodepool/errors.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import { FINALIZER, type NodePool } from '../nodepool/types.ts';
import { conflictDelay } from './conflict-delay.ts';
import type { ClusterPort } from './ports.ts';
import type { View } from './view.ts';

interface FinalizerDeps {
  cluster: ClusterPort;
  view: View;
  sleep: (ms: number) => Promise<void>;
}

const MOST_ATTEMPTS = 20;

/**
 * The pool with its finalizer, or as it is when it is being deleted; undefined when it is gone, or another has its name.
 * The view follows. Throws NodepoolError.
 */
export async function addFinalizer(pool: NodePool, deps: FinalizerDeps): Promise<NodePool | undefined> {
  return edit(pool, deps, ({ finalizers = [], deletionTimestamp }) =>
    // The server accepts no new finalizer on a pool that is being deleted.
    finalizers.includes(FINALIZER) || deletionTimestamp !== undefined ? finalizers : [...finalizers, FINALIZER],
  );
}

/** Lets a deleted pool go. */
export async function dropFinalizer(pool: NodePool, deps: FinalizerDeps): Promise<void> {
  await edit(pool, deps, ({ finalizers = [] }) => finalizers.filter(finalizer => finalizer !== FINALIZER));
  deps.view.removePool(pool.metadata.name, pool.metadata.uid);
}

async function edit(
  pool: NodePool,
  { cluster, view, sleep }: FinalizerDeps,
  change: (metadata: NodePool['metadata']) => string[],
): Promise<NodePool | undefined> {
  const { name, uid } = pool.metadata;
  let current: NodePool | undefined = pool;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const finalizers = change(current.metadata);
    if (deepEqual(current.metadata.finalizers ?? [], finalizers)) return current;
    const write = await cluster.setFinalizers(current, finalizers);
    if (write.kind === 'written') {
      view.setPool(write.pool);
      if (!deepEqual(write.pool.metadata.finalizers ?? [], finalizers)) throw alteredError(name);
      return write.pool;
    }
    await sleep(conflictDelay(attempt, Math.random()));
    current = write.kind === 'gone' ? undefined : await cluster.getPool(name);
    if (current === undefined) view.removePool(name, uid);
    else view.setPool(current);
    // Another pool of that name: its finalizers are not this one's.
    if (current === undefined || current.metadata.uid !== uid) return undefined;
  }
  throw new NodepoolError(
    'cluster',
    `cannot set the finalizer of nodepool ${name}: the cluster keeps answering conflict`,
  );
}

function alteredError(pool: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `the finalizers of nodepool ${pool} were changed by an admission policy or webhook while they were written`,
    'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`',
  );
}
