/** An apps/v1 ControllerRevision for each spec, as for StatefulSets. A spec that returns gets a higher number. */
import { NodepoolError } from '../errors.ts';
import { deepEqual, defined, isObject } from '../json.ts';
import { FIELD_MANAGER, managedAt, readManagedFields } from '../managed-fields.ts';
import { ellipsize } from '../text.ts';
import { API_VERSION, GROUP, type NodePool, type ObjectMeta, POOL_LABEL } from '../types.ts';

/** apps/v1. Its data is immutable on the server. */
export interface ControllerRevision {
  metadata: ObjectMeta;
  data?: unknown;
  revision: number;
}

/** The part of a revision without its spec: the watch has the revisions of all pools in memory. */
export interface RevisionHead {
  metadata: ObjectMeta;
  revision: number;
  /** Digest of its spec: see digestOf(). Undefined if it has none, or one that no pool of ours can have. */
  digest: string | undefined;
}

type Pool = Pick<NodePool, 'metadata'> & { spec: object };

/** The annotation with the reason of a pool's change, as kubectl reads it. */
export const CHANGE_CAUSE = 'kubernetes.io/change-cause';
/** Number of earlier specs to keep: the default revisionHistoryLimit of workloads. */
const MAX_FORMER = 10;

/** Maximum bytes of a change cause; all annotations of an object have 256 KiB. */
const MAX_CAUSE = 1024;
/** Revisions with a higher number are ignored, so that numbers can still increase. */
const MAX_REVISION = 1e12;
/** Letters and digits that form no words, as in revision names of workloads. */
const SAFE = 'bcdfghjklmnpqrstvwxz2456789';
/** Maximum nesting of a spec: fields that this version does not know may contain anything. */
const MAX_DEPTH = 500;

/** Fields about how a pool is rolled out, not about its nodes. */
const NOT_KEPT = ['noExecute', 'paused', 'rollout'];

export type RevisionPlan =
  | { kind: 'none' }
  | { kind: 'create'; revision: number }
  /** Changes the number or the cause of an existing revision. */
  | { kind: 'update'; current: RevisionHead; revision: number };

/** The part of a spec that revisions store: without `noExecute`, `paused` and `rollout`. */
export function keptSpec(spec: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !NOT_KEPT.includes(field)));
}

/** The spec of a pool with the stored fields; `noExecute`, `paused` and `rollout` stay unchanged. */
export function restoredSpec(spec: object, revision: ControllerRevision): Record<string, unknown> {
  const stays = Object.entries(spec).filter(([field]) => NOT_KEPT.includes(field));
  return { ...specOf(revision), ...Object.fromEntries(stays) };
}

/** The revisions of the pool with this UID, oldest first. */
export function poolRevisions<Revision extends ControllerRevision | RevisionHead>(
  { metadata }: Pick<NodePool, 'metadata'>,
  all: readonly Revision[],
): Revision[] {
  return all.filter(revision => isOwn(revision, metadata)).toSorted(byAge);
}

export function revisionHead({ metadata, data, revision }: ControllerRevision): RevisionHead {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences } = metadata;
  const cause = causeOf({ metadata });
  return {
    metadata: defined({
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      deletionTimestamp,
      ownerReferences,
      annotations: cause === undefined ? undefined : { [CHANGE_CAUSE]: cause },
    }) as ObjectMeta,
    revision,
    digest: isObject(data) && isObject(data.spec) ? digestOf(data.spec) : undefined,
  };
}

/** The write that makes the pool's spec the last revision. @param revisions see poolRevisions() */
export function planRevision(pool: Pool, revisions: readonly RevisionHead[]): RevisionPlan {
  const last = revisions.at(-1);
  const digest = digestOf(pool.spec);
  const current = digest === undefined ? undefined : revisions.findLast(each => each.digest === digest);
  const next = (last?.revision ?? 0) + 1;
  if (current === undefined) return { kind: 'create', revision: next };
  if (current !== last) return { kind: 'update', current, revision: next };
  if (causeOf(current) === causeOf(pool)) return { kind: 'none' };
  return { kind: 'update', current, revision: current.revision };
}

/** Revisions beyond the limit, oldest first. The last revision is the current spec. */
export function excessRevisions(revisions: readonly RevisionHead[]): RevisionHead[] {
  return revisions.slice(0, Math.max(0, revisions.length - 1 - MAX_FORMER));
}

/** @param attempt 0, or the next number if another object has the name */
export function newRevision(pool: Pool, revision: number, attempt: number): ControllerRevision {
  const { name, uid = '' } = pool.metadata;
  const data = { spec: keptSpec(pool.spec) };
  const cause = causeOf(pool);
  return {
    metadata: {
      name: `${name}-${hash(data, attempt)}`,
      labels: { [POOL_LABEL]: name },
      ...(cause === undefined ? {} : { annotations: { [CHANGE_CAUSE]: cause } }),
      // Without blockOwnerDeletion: needs no permission on finalizers, and the deletion of a pool does not wait.
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'NodePool', name, uid, controller: true }],
    },
    data,
    revision,
  };
}

/** The field manager of another writer; undefined if only we wrote it. Not guaranteed: clients choose the name. */
export function foreignWriter({ metadata }: ControllerRevision): string | undefined {
  const entries = readManagedFields((metadata as { managedFields?: unknown }).managedFields);
  const writers = entries.filter(entry => managedAt(entry, ['data']) !== undefined).map(({ manager }) => manager);
  if (writers.length > 0 && writers.every(writer => writer === FIELD_MANAGER)) return undefined;
  return writers.find(writer => writer !== FIELD_MANAGER) ?? 'an unknown field manager';
}

/** Whether the revision stores the current spec of the pool. */
export function isRevisionOf({ spec }: Pick<Pool, 'spec'>, revision: ControllerRevision): boolean {
  return deepEqual(specOf(revision), keptSpec(spec));
}

/** The reason why the pool was changed, or that of a revision's change. */
export function causeOf({ metadata }: { metadata: ObjectMeta }): string | undefined {
  const cause: unknown = metadata.annotations?.[CHANGE_CAUSE];
  return typeof cause === 'string' && cause !== '' ? ellipsize(cause, MAX_CAUSE) : undefined;
}

/** The revision with the number. Without one (0), the last that differs from the spec of the pool. */
export function revisionToRestore(
  pool: Pool,
  revisions: readonly ControllerRevision[],
  number: number,
): ControllerRevision | undefined {
  if (number > 0) return revisions.findLast(({ revision }) => revision === number);
  return revisions.findLast(revision => !isRevisionOf(pool, revision));
}

/** False for objects that others made with the name or label of the pool, or for an earlier pool of that name. */
function isOwn(each: ControllerRevision | RevisionHead, pool: ObjectMeta): boolean {
  const { metadata, revision } = each;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined || pool.uid === undefined || owner.uid !== pool.uid) return false;
  const isPool = owner.kind === 'NodePool' && owner.apiVersion.startsWith(`${GROUP}/`);
  const isNumbered = Number.isInteger(revision) && revision > 0 && revision <= MAX_REVISION;
  const hasSpec = 'digest' in each ? each.digest !== undefined : isObject(each.data) && isObject(each.data.spec);
  return isPool && isNumbered && hasSpec && metadata.deletionTimestamp === undefined;
}

/** Equal if the specs restore the same; undefined for a spec that is nested too deeply for a revision. */
function digestOf(spec: object): string | undefined {
  try {
    return fingerprint(canonical(keptSpec(spec)));
  } catch (error) {
    if (error instanceof NodepoolError) return undefined;
    throw error;
  }
}

export function specOf({ data }: ControllerRevision): Record<string, unknown> {
  return isObject(data) && isObject(data.spec) ? keptSpec(data.spec) : {};
}

/** As byRevision in Kubernetes. */
function byAge(a: Pick<RevisionHead, 'metadata' | 'revision'>, b: Pick<RevisionHead, 'metadata' | 'revision'>): number {
  if (a.revision !== b.revision) return a.revision - b.revision;
  const [first, second] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`);
  return (first ?? '') < (second ?? '') ? -1 : 1;
}

/** FNV-1 with 32 bits, in safe characters, as in Kubernetes: it need not be unique. */
function hash(data: object, attempt: number): string {
  const text = attempt === 0 ? canonical(data) : `${canonical(data)}${attempt}`;
  let sum = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) sum = (Math.imul(sum, 0x01000193) ^ byte) >>> 0;
  return [...String(sum)].map(digit => SAFE[digit.charCodeAt(0) % SAFE.length]).join('');
}

/** 128 bits and the length: two specs of one pool do not collide by chance. */
function fingerprint(text: string): string {
  const sums = [0x811c9dc5, 0x050c5d1f, 0x9e3779b9, 0x7f4a7c15];
  const primes = [0x01000193, 0x5bd1e995, 0x85ebca6b, 0xc2b2ae35];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    for (let i = 0; i < sums.length; i++) {
      const sum = Math.imul((sums[i] ?? 0) ^ code, primes[i] ?? 1);
      sums[i] = sum ^ (sum >>> 15);
    }
  }
  return `${text.length} ${sums.map(sum => (sum >>> 0).toString(36)).join(' ')}`;
}

/** JSON with sorted keys: equal specs get equal names. Throws NodepoolError if nested too deeply. */
function canonical(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw new NodepoolError('input', `the spec has more than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) return `[${value.map(item => canonical(item, depth + 1)).join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).toSorted();
  return `{${members.map(key => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`).join()}}`;
}
