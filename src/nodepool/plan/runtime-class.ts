/**
 * The RuntimeClass `node-pool-<pool>`: pods that name it are scheduled to the pool's nodes and tolerate its taints.
 *
 * While a spec reaches the members step by step, or has to wait, new pods must fit on all members. So the class
 * tolerates the taints of the spec and taints that members have from an earlier spec, and selects only by labels that
 * all members already have. With `noExecute: Drain` alone, only NoExecute taints wait, and the taints that they
 * replace. Once all members have the spec, the class equals that of the spec.
 */
import { deepEqual, defined, isObject, parsedJson } from '../json.ts';
import { memberLabels, membershipSelector } from '../membership/selector.ts';
import { compareQuantities, parseQuantity, QuantityError } from '../quantity/quantity.ts';
import { isPaused } from '../rollout/rollout.ts';
import { keyProblem, valueProblem } from '../spec/syntax.ts';
import { isSameTaint, taintFrom, taintId } from '../spec/taints.ts';
import {
  API_VERSION,
  GROUP,
  type Node,
  type NodePool,
  type NodePoolSpec,
  REPLACED_ANNOTATION,
  type RuntimeClass,
  type Taint,
  type Toleration,
} from '../types.ts';
import type { AppliedRecord } from './record.ts';
import { isTransient, transientKeysOf } from './transient-states.ts';

/** A member of a pool that isGradual(), with what the pool applied to it. */
export interface RecordedMember {
  record: AppliedRecord;
  /** The node's own taints: a kubelet can write a record, but no taints. */
  taints: Node['taints'];
}

/** Whether members may have an earlier spec for longer than a reconcile. */
export function isGradual(pool: NodePool): boolean {
  return isStepwise(pool) || pool.spec.noExecute === 'Drain';
}

/** Whether all parts of a changed spec may wait. */
function isStepwise(pool: NodePool): boolean {
  return pool.spec.rollout !== undefined || isPaused(pool);
}

export function runtimeClassName(pool: string): string {
  return `node-pool-${pool}`;
}

/** The pool that a RuntimeClass of this name belongs to, whether the pool exists or not. */
export function poolOfRuntimeClass(name: string): string | undefined {
  return /^node-pool-(.+)$/.exec(name)?.[1];
}

export type RuntimeClassPlan =
  | { kind: 'none' }
  | { kind: 'create'; desired: RuntimeClass }
  /** Delete and create: another handler (immutable), an earlier pool as owner, or a deletion in progress. */
  | { kind: 'replace'; current: RuntimeClass; desired: RuntimeClass }
  | { kind: 'patch'; current: RuntimeClass; scheduling: Scheduling }
  | { kind: 'delete'; current: RuntimeClass }
  /** A RuntimeClass of this name has another owner; it is not taken over. */
  | { kind: 'foreign'; current: RuntimeClass };

/** What admission adds to pods that name the RuntimeClass, at their creation. */
export type Scheduling = NonNullable<RuntimeClass['scheduling']>;

export interface SchedulingChange {
  before: Scheduling;
  after: Scheduling;
}

/** Undefined if nothing changes, or if the RuntimeClass is deleted. */
export function schedulingChange(plan: RuntimeClassPlan): SchedulingChange | undefined {
  if (plan.kind === 'none' || plan.kind === 'delete' || plan.kind === 'foreign') return undefined;
  const before = plan.kind === 'create' ? undefined : plan.current.scheduling;
  const after = plan.kind === 'patch' ? plan.scheduling : plan.desired.scheduling;
  return { before: before ?? {}, after: after ?? {} };
}

/** @param current of that name, of any owner @param members of a pool that isGradual(); otherwise all have the spec */
export function planRuntimeClass(
  pool: NodePool,
  current: RuntimeClass | undefined,
  members: readonly RecordedMember[] = [],
): RuntimeClassPlan {
  const desired = pool.metadata.deletionTimestamp === undefined ? desiredRuntimeClass(pool, members) : undefined;
  const owned = current === undefined ? undefined : ownership(pool, current);
  const dying = current?.metadata.deletionTimestamp !== undefined;
  if (desired === undefined) {
    return current !== undefined && owned !== 'foreign' && !dying ? { kind: 'delete', current } : { kind: 'none' };
  }
  if (current === undefined) return { kind: 'create', desired };
  if (owned === 'foreign') return { kind: 'foreign', current };
  if (dying || owned === 'leftover' || current.handler !== desired.handler)
    return { kind: 'replace', current, desired };
  const scheduling = desired.scheduling ?? {};
  return sameScheduling(current.scheduling ?? {}, scheduling)
    ? { kind: 'none' }
    : { kind: 'patch', current, scheduling };
}

function desiredRuntimeClass(pool: NodePool, members: readonly RecordedMember[]): RuntimeClass | undefined {
  const { handler } = pool.spec;
  const taints = toleratedTaints(pool.spec);
  if (handler === undefined || handler === '') return undefined;
  return {
    metadata: {
      name: runtimeClassName(pool.metadata.name),
      ownerReferences: [
        {
          apiVersion: API_VERSION,
          kind: 'NodePool',
          name: pool.metadata.name,
          uid: pool.metadata.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    handler,
    scheduling: {
      nodeSelector: { ...membershipSelector(pool).labels, ...labelsOfAll(pool, isStepwise(pool) ? members : []) },
      tolerations: [...taints, ...earlierTaints(pool, taints, members)].map(({ key, value, effect }) => ({
        key,
        operator: 'Equal',
        ...(value === undefined || value === '' ? {} : { value }),
        effect,
      })),
    },
  };
}

/** Labels of the spec that every member has. Without temporary labels: other software changes them. */
function labelsOfAll(pool: NodePool, members: readonly RecordedMember[]): Record<string, string> {
  const transientKeys = transientKeysOf(pool);
  const labels = Object.entries(memberLabels(pool)).filter(([key]) => !isTransient('label', key, transientKeys));
  return Object.fromEntries(
    labels.filter(([key, value]) => members.every(({ record }) => record.labels.get(key)?.value === value)),
  );
}

/** Taints that members have from an earlier spec; sorted, so that the order of nodes causes no write. */
function earlierTaints(pool: NodePool, taints: readonly Taint[], members: readonly RecordedMember[]): Taint[] {
  const { taints: specTaints = [] } = pool.spec;
  // Ids only: the first write of a drain must not change the class twice.
  const waiting = new Set(specTaints.filter(({ effect }) => effect === 'NoExecute').map(taintId));
  const tolerated = new Map(taints.map(taint => [taintId(taint), taint.value ?? '']));
  const found = new Map<string, Taint>();
  for (const { record, taints: live } of members) {
    for (const [id, { value }] of record.taints) {
      if (value === null || tolerated.get(id) === value || !(isStepwise(pool) || waiting.has(id))) continue;
      const taint = taintFrom(id, value);
      if (live.some(each => isSameTaint(each, taint))) found.set(`${id} ${value}`, taint);
    }
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, taint]) => taint);
}

/** Includes the stand-ins of taints that wait for evictions. */
function toleratedTaints({ taints = [], noExecute }: NodePoolSpec): Taint[] {
  if (noExecute !== 'Drain') return taints;
  const specIds = new Set(taints.map(taintId));
  const standIns = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .map((taint): Taint => ({ ...taint, effect: 'NoSchedule' }));
  return [...taints, ...standIns.filter(standIn => !specIds.has(taintId(standIn)))];
}

/** `leftover`: made for a deleted pool of the same name, and not yet garbage-collected. */
function ownership(pool: NodePool, runtimeClass: RuntimeClass): 'ours' | 'leftover' | 'foreign' {
  const owner = runtimeClass.metadata.ownerReferences?.find(reference => reference.controller);
  // Other API groups, such as Karpenter's, have the kind NodePool as well.
  const isPool = owner?.kind === 'NodePool' && owner.apiVersion.startsWith(`${GROUP}/`);
  if (!isPool || owner.name !== pool.metadata.name) return 'foreign';
  return owner.uid === pool.metadata.uid ? 'ours' : 'leftover';
}

function sameScheduling(a: Scheduling, b: Scheduling): boolean {
  const normal = (tolerations: Toleration[] = []) =>
    tolerations.map(toleration => ({ ...toleration, value: toleration.value || undefined }));
  return (
    deepEqual(a.nodeSelector ?? {}, b.nodeSelector ?? {}) && deepEqual(normal(a.tolerations), normal(b.tolerations))
  );
}

// What others set on a RuntimeClass that is replaced because its handler is immutable. From its deletion to the
// creation of the new one, an annotation on the pool keeps these fields, because the process may end in between.
//
// Not guaranteed: that the annotation is authentic. Whoever may write pools may write it, so any text is accepted, and
// fields that a RuntimeClass may not have are left out.

export interface PreservedFields {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  overhead?: unknown;
}

/** Maximum characters of the annotation: all annotations of an object have 256 KiB. */
export const MAX_PRESERVED_LENGTH = 16 * 1024;

/** The pool sets none of these fields. Undefined if others did not either. */
export function preservedFields({ overhead, metadata }: RuntimeClass): PreservedFields | undefined {
  const [labels, annotations] = [nonEmpty(metadata.labels), nonEmpty(metadata.annotations)];
  const preserved = defined({ labels, annotations, overhead: overhead ?? undefined });
  return Object.keys(preserved).length === 0 ? undefined : preserved;
}

/** The annotation's text. If too long, without annotations, then without labels. @param pool its UID */
export function formatPreserved({ labels, annotations, overhead }: PreservedFields, pool: string): string | undefined {
  return [{ labels, annotations, overhead }, { labels, overhead }, { overhead }]
    .filter(preserved => Object.values(preserved).some(value => value !== undefined))
    .map(preserved => JSON.stringify({ pool, ...preserved }))
    .find(text => text.length <= MAX_PRESERVED_LENGTH);
}

/** Undefined if the pool has none, or that of another pool, which was copied by a manifest or backup. */
export function storedPreserved({ metadata: { uid, annotations } }: NodePool): PreservedFields | undefined {
  const raw = annotations?.[REPLACED_ANNOTATION];
  return raw === undefined || uid === undefined ? undefined : parsePreserved(raw, uid);
}

/** Accepts any text. @param pool its UID */
export function parsePreserved(raw: string, pool: string): PreservedFields | undefined {
  if (raw.length > MAX_PRESERVED_LENGTH) return undefined;
  const json = parsedJson(raw);
  if (!isObject(json) || json.pool !== pool) return undefined;
  const labels = valid(json.labels, (key, value) => (keyProblem(key) ?? valueProblem(value)) === undefined);
  // The server validates annotation keys in lower case.
  const annotations = valid(json.annotations, key => keyProblem(key.toLowerCase()) === undefined);
  return defined({ labels, annotations, overhead: overheadOf(json.overhead) });
}

function overheadOf(json: unknown): { podFixed: Record<string, string> } | undefined {
  if (!isObject(json)) return undefined;
  const podFixed = valid(json.podFixed, (key, value) => keyProblem(key) === undefined && isAmount(value));
  return podFixed && { podFixed };
}

/** Undefined if there is none. */
function valid(json: unknown, isValid: (key: string, value: string) => boolean): Record<string, string> | undefined {
  if (!isObject(json)) return undefined;
  const pairs = Object.entries(json).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  return nonEmpty(Object.fromEntries(pairs.filter(([key, value]) => isValid(key, value))));
}

function isAmount(text: string): boolean {
  try {
    return compareQuantities(parseQuantity(text), parseQuantity('0')) >= 0;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

function nonEmpty<V>(map: Record<string, V> = {}): Record<string, V> | undefined {
  return Object.keys(map).length === 0 ? undefined : map;
}
