/** Patches a pool that others may change concurrently, and reports what the server stored differently. */
import type { PoolWrite, RawPool } from '../../../kube/cluster.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject } from '../../../nodepool/json.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { fieldErrors } from '../../../nodepool/spec/field-error.ts';
import { ellipsize } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { alteredError } from '../../../reconciler/write/altered.ts';
import { poolNotFound } from '../pools/not-found.ts';
import type { EditOptions } from './plan-edit.ts';
import { saveReplaced } from './save-replaced.ts';

/** After a conflict, the edit is applied again to the current pool. */
export const MAX_ATTEMPTS = 10;

/** Makes the server refuse the patch if the pool is no longer the one that was read. */
function guardedPatch(patch: Record<string, unknown>, read: RawPool): Record<string, unknown> {
  const metadata = (patch.metadata ?? {}) as Record<string, unknown>;
  return { ...patch, metadata: { ...metadata, resourceVersion: read.metadata.resourceVersion } };
}

interface PoolPatch {
  before: RawPool;
  /** The pool with the patch applied. */
  after: RawPool;
  /** Undefined: nothing to write. */
  patch: Record<string, unknown> | undefined;
}

/**
 * Writes the proposal, and requests another one if somebody has changed the pool. Returns the pool as it is now, or
 * would be. Throws NodepoolError, also if the server stored something else.
 */
export async function patchPool<T extends PoolPatch>(
  name: string,
  command: string,
  options: Pick<EditOptions, 'cluster' | 'dryRun' | 'warn'>,
  propose: () => Promise<T>,
): Promise<T & { pool: RawPool }> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const proposal = await propose();
    const { before, after, patch } = proposal;
    if (patch === undefined) return { ...proposal, pool: before };
    if (options.dryRun === 'client') return { ...proposal, pool: after };
    const write = await patchAndSave(before, after, patch, options);
    if (write.kind === 'gone') throw poolNotFound(command, [name]);
    if (write.kind === 'conflict') continue;
    const altered = alteredPool(after, write.pool, before);
    if (altered !== undefined) throw altered;
    const { unreadable } = coercePool(write.pool);
    if (unreadable !== undefined && coercePool(after).unreadable === undefined)
      throw fieldErrors(`pool ${name} in the server's answer`, unreadable);
    return { ...proposal, pool: write.pool };
  }
  throw new NodepoolError('cluster', `cannot edit pool ${name}: somebody else keeps changing the pool`, 'try again');
}

/** One guarded patch. Before it, saves the spec that it replaces: see saveReplaced(). */
export async function patchAndSave(
  before: RawPool,
  after: Pick<RawPool, 'spec'>,
  patch: Record<string, unknown>,
  options: Pick<EditOptions, 'cluster' | 'dryRun' | 'warn'>,
): Promise<PoolWrite<RawPool>> {
  const { pools, revisions } = options.cluster;
  const saved = await saveReplaced(before, after, options);
  return pools.patch(before.metadata.name, guardedPatch(patch, before)).catch(async (error: unknown) => {
    // After a refusal, nothing is left; without an answer, the server may have written the edit.
    const isRefusal = error instanceof NodepoolError && !error.isTransient && !error.isGeneral;
    if (saved !== undefined && isRefusal) await revisions.delete(saved).catch(() => {});
    throw error;
  });
}

// How the stored pool differs from what a create or an edit sent.

/** Maximum bytes of a value in a message. */
const MAX_VALUE_LENGTH = 200;

/**
 * Undefined if the response has all that was sent, and nothing that the write removed. Additions by the server are
 * ignored. The server refuses fields that the CRD does not have (fieldValidation=Strict), so an admission policy or
 * webhook must have removed a missing one.
 * @param before the pool before an edit
 */
export function alteredPool(sent: NodePool, answer: NodePool, before?: NodePool): NodepoolError | undefined {
  const [wanted, found] = [fields(sent), fields(answer)];
  const names = new Set([...wanted.keys(), ...(before === undefined ? [] : fields(before).keys())]);
  const altered = [...names]
    .filter(name => wanted.get(name) !== found.get(name))
    .map(name => ({ name, sent: wanted.get(name), found: found.get(name) }));
  return altered.length === 0 ? undefined : alteredError(`pool ${sent.metadata.name}`, altered);
}

/** Every value by its path: `spec.nodeSelector[kind]`, `spec.taints[gold:NoSchedule]`, `spec.handler`. */
function fields({ metadata, spec }: NodePool): Map<string, string> {
  const into = new Map<string, string>();
  const set = (path: string, value: unknown) => {
    if (value === undefined || value === null) return;
    into.set(path, ellipsize(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE_LENGTH));
  };
  const setEach = (path: string, map: unknown) => {
    if (isObject(map)) for (const [key, value] of Object.entries(map)) set(`${path}[${key}]`, value);
  };
  setEach('metadata.labels', metadata.labels);
  setEach('metadata.annotations', metadata.annotations);
  setEach('spec.labels', spec.labels);
  setEach('spec.nodeSelector', spec.nodeSelector);
  setEach('spec.matchExpressions', { ...asList(spec.matchExpressions) });
  set('spec.handler', spec.handler);
  set('spec.unmanaged', spec.unmanaged);
  setEach('spec.annotations', spec.annotations);
  set('spec.paused', spec.paused);
  for (const [field, value] of Object.entries(spec.rollout ?? {})) set(`spec.rollout.${field}`, value);
  for (const taint of asList(spec.taints))
    if (isObject(taint)) set(`spec.taints[${taint.key}:${taint.effect}]`, taint.value ?? '');
  for (const taint of asList(spec.startupTaints)) {
    if (!isObject(taint)) continue;
    const path = `spec.startupTaints[${taint.key}:${taint.effect}]`;
    set(path, taint.value ?? '');
    if (isObject(taint.until)) set(`${path}.until`, taint.until.nodeCondition);
    set(`${path}.again`, taint.again);
  }
  return into;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
