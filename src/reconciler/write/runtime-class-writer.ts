/** Creates, updates and deletes the RuntimeClass of one pool. Does not change RuntimeClasses of other owners. */
import type { ClusterPort, PoolWrite } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined } from '../../nodepool/json.ts';
import {
  formatPreserved,
  type PreservedFields,
  planRuntimeClass,
  preservedFields,
  type RecordedMember,
  type RuntimeClassPlan,
  runtimeClassName,
  storedPreserved,
} from '../../nodepool/plan/runtime-class.ts';
import { type NodePool, REPLACED_ANNOTATION } from '../../nodepool/types.ts';
import type { WriteRateLimiter } from '../limits/rate-limiters.ts';
import { assertRuntimeClassFree, type MetadataField, runtimeClassWritten } from '../limits/write-limits.ts';
import type { WriterOptions } from '../options.ts';
import { attemptWrite, type PoolOutcome, type RuntimeClassOutcome } from '../outcome.ts';
import { recordedMembers } from '../plan/rollout-plan.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { poolAlteredError } from './altered.ts';
import { editPool } from './pool-metadata.ts';

/** A step of a reconcile. False if it failed: the outcome has the reason. */
export async function writeRuntimeClass(
  pool: NodePool,
  outcome: PoolOutcome,
  options: WriterOptions,
): Promise<boolean> {
  const { limitObjects } = options;
  const error = await attemptWrite(outcome, async () => {
    const done = await limitObjects(() => applyRuntimeClass(pool, options));
    if (done.kind !== 'unchanged') outcome.runtimeClass = done;
    if (done.kind !== 'foreign') await limitObjects(() => forgetPreserved(pool, options));
  });
  return error === undefined;
}

/** Each attempt uses the last read; more attempts mean that others recreate it as fast as it is deleted. */
const MAX_ATTEMPTS = 5;

/** In a dry run, a replacement ends after the (dry) delete. Throws NodepoolError if it fails. */
export async function applyRuntimeClass(pool: NodePool, options: WriterOptions): Promise<RuntimeClassOutcome> {
  const { cluster, state, writeLimiter } = options;
  const name = runtimeClassName(pool.metadata.name);
  // Computed once, so that node changes during the attempts do not look like changes by others.
  const reached = recordedMembers(pool, state);
  let isReplaced = false;
  // Left by a process that ended after the delete.
  let preserved = storedPreserved(state.pool(pool.metadata.name) ?? pool);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const known = state.runtimeClass(name);
    const plan = withPreserved(planRuntimeClass(pool, known, reached), preserved);
    // After a delete, somebody else or our own retried request has created the right one.
    if (plan.kind === 'none') return isReplaced ? { kind: 'updated', name } : { kind: 'unchanged' };
    if (plan.kind === 'foreign') return { kind: 'foreign', name };
    assertRuntimeClassFree(name, writeLimiter);
    if (plan.kind === 'replace') {
      preserved = preservedFields(plan.current);
      await storePreserved(pool, preserved, options);
    }
    if (await act(plan, cluster, state)) {
      if (plan.kind === 'create' || plan.kind === 'patch') assertUnaltered(pool, reached, state, writeLimiter);
      if (plan.kind === 'create') return { kind: isReplaced ? 'updated' : 'created', name };
      if (plan.kind === 'delete') return { kind: 'deleted', name };
      if (plan.kind === 'patch' || cluster.isDryRun) return { kind: 'updated', name };
      isReplaced = true;
    } else {
      const readTime = state.beginRead();
      const current = await cluster.runtimeClasses.get(name);
      if (current === undefined) state.removeRuntimeClass(name, known?.metadata.uid);
      else state.setRuntimeClass(current, readTime);
    }
  }
  throw new NodepoolError('cluster', `somebody else keeps changing RuntimeClass ${name}`, 'try again');
}

/** Whether applyRuntimeClass() would delete it, by the current state. */
export function deletesRuntimeClass(pool: NodePool, state: ClusterState): boolean {
  return planRuntimeClass(pool, state.runtimeClass(runtimeClassName(pool.metadata.name))).kind === 'delete';
}

/** Throws WriteError if the server stored another object: an immediate retry would spin. */
function assertUnaltered(
  pool: NodePool,
  reached: readonly RecordedMember[],
  state: ClusterState,
  writeLimiter: WriteRateLimiter,
): void {
  const name = runtimeClassName(pool.metadata.name);
  const isAltered = planRuntimeClass(pool, state.runtimeClass(name), reached).kind !== 'none';
  runtimeClassWritten(name, isAltered ? alteredClassError(name) : undefined, writeLimiter);
}

function alteredClassError(name: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `an admission policy or webhook changed RuntimeClass ${name} during the write`,
    'find it with `kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations`, and set the value in only one place',
  );
}

/** The replacement keeps the labels, annotations and overhead that others set. */
function withPreserved(plan: RuntimeClassPlan, preserved: PreservedFields = {}): RuntimeClassPlan {
  if (plan.kind !== 'create') return plan;
  const { overhead, ...others } = preserved;
  const metadata = { ...plan.desired.metadata, ...others };
  return { kind: 'create', desired: { ...plan.desired, ...defined({ overhead }), metadata } };
}

/** Sends one write and updates the cluster state; false if the object differed from the cluster state. */
async function act(
  plan: Exclude<RuntimeClassPlan, { kind: 'none' | 'foreign' }>,
  cluster: ClusterPort,
  state: ClusterState,
): Promise<boolean> {
  switch (plan.kind) {
    case 'create': {
      const made = await cluster.runtimeClasses.create(plan.desired);
      if (made.kind === 'created') state.setRuntimeClass(made.runtimeClass);
      return made.kind === 'created';
    }
    case 'patch': {
      const write = await cluster.runtimeClasses.patch(plan.current, plan.scheduling);
      if (write.kind === 'written') state.setRuntimeClass(write.runtimeClass);
      return write.kind === 'written';
    }
    case 'replace':
    case 'delete': {
      const { name, uid, finalizers = [] } = plan.current.metadata;
      const deleted = await cluster.runtimeClasses.delete(plan.current);
      if (deleted === 'conflict') return false;
      if (deleted === 'marked' && plan.kind === 'replace') {
        throw new NodepoolError(
          'cluster',
          `cannot replace RuntimeClass ${name} while it has finalizers: ${finalizers.join(', ')}`,
          `see kubectl get runtimeclass ${name} -o yaml`,
        );
      }
      // With finalizers it still exists: the cache reports when it is gone.
      if (deleted !== 'marked') state.removeRuntimeClass(name, uid);
      return true;
    }
  }
}

// Keeps what others set on a RuntimeClass, in an annotation on its pool, from its deletion until the next one is
// created: if killed in between, the next run uses that. Costs no write if others set nothing.

const PRESERVED_FIELD: MetadataField = {
  name: `annotation ${REPLACED_ANNOTATION}`,
  path: ['metadata', 'annotations', REPLACED_ANNOTATION],
};

/** Throws NodepoolError if it cannot be stored: the RuntimeClass must not be deleted then. */
async function storePreserved(
  pool: NodePool,
  preserved: PreservedFields | undefined,
  options: WriterOptions,
): Promise<void> {
  await annotate(pool, preserved && formatPreserved(preserved, pool.metadata.uid ?? ''), options);
}

/** Called once the RuntimeClass matches the pool, whoever created it. Throws NodepoolError. */
export async function forgetPreserved(pool: NodePool, options: WriterOptions): Promise<void> {
  await annotate(pool, undefined, options);
}

/** A pool that is being deleted needs no removal of the annotation. @param value undefined removes it */
async function annotate(pool: NodePool, value: string | undefined, options: WriterOptions): Promise<void> {
  const { cluster, state } = options;
  const { name, uid } = pool.metadata;
  const isDone = ({ metadata }: NodePool) =>
    metadata.deletionTimestamp !== undefined || metadata.annotations?.[REPLACED_ANNOTATION] === value;
  const known = state.pool(name);
  if (known === undefined || known.metadata.uid !== uid || isDone(known)) return;
  const write = async (current: NodePool): Promise<PoolWrite> => {
    const written = await cluster.pools.annotate(current, REPLACED_ANNOTATION, value);
    if (written.kind === 'written' && !isDone(written.pool))
      throw poolAlteredError(`annotation ${REPLACED_ANNOTATION} of pool ${name} was`);
    return written;
  };
  await editPool(known, PRESERVED_FIELD, options, current => (isDone(current) ? undefined : () => write(current)));
}
