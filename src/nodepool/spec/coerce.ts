/**
 * Makes a pool from the API safe to use. A cluster whose CRD is, or was, of another version can return fields of any
 * type. Fields of the wrong type are left out and listed in `unreadable`, so all later code can rely on the types. A
 * pool with unreadable fields is invalid (validation.ts).
 */
import { NodepoolError } from '../errors.ts';
import { isObject } from '../json.ts';
import {
  API_VERSION,
  type Condition,
  type NodePool,
  type NodePoolSpec,
  type NodePoolStatus,
  type ObjectMeta,
  type ResourceList,
} from '../types.ts';
import { type FieldError, fieldErrors } from './field-error.ts';
import { describeValue, matchesSchema, readBySchema } from './read-by-schema.ts';
import { CONDITION_SCHEMA, droppedFields, POOL_SCHEMA, type Schema, SPEC_SCHEMA, STATUS_SCHEMA } from './schema.ts';

/** The CRD's default: never reconciled, or only by the earlier operator. Here it counts as no generation. */
export const NEVER_OBSERVED = -1;

/** The original specs of coerced pools, if they differ. */
const rawSpecs = new WeakMap<object, object>();

/** The spec as on the server, including fields that this version does not know. */
export function rawSpecOf({ spec }: Pick<NodePool, 'spec'>): object {
  return rawSpecs.get(spec) ?? spec;
}

/** By the pool as read: `get` needs each twice, for the counts and for the table. */
const coercedPools = new WeakMap<NodePool, NodePool>();

/** @param raw the pool, which nobody changes; the API server has validated its metadata */
export function coercePool<P extends NodePool>(raw: P): P {
  const known = coercedPools.get(raw) ?? coerceFields(raw);
  coercedPools.set(raw, known);
  return known as P;
}

function coerceFields(raw: NodePool): NodePool {
  const errors: FieldError[] = [];
  const spec = read(raw.spec ?? {}, SPEC_SCHEMA, 'spec', errors) ?? {};
  const { status: _status, ...rest } = raw;
  const dropped = droppedFields(raw);
  errors.push(
    ...dropped.map(field => ({
      field: `spec.${field}`,
      message: 'is or was dropped by an outdated CRD',
    })),
  );
  const status = coerceStatus(raw.status);
  if (spec !== raw.spec && isObject(raw.spec)) rawSpecs.set(spec, raw.spec);
  return {
    ...rest,
    spec: spec as NodePoolSpec,
    ...(status === undefined ? {} : { status }),
    ...(errors.length === 0 ? {} : { unreadable: errors }),
    ...(dropped.length === 0 ? {} : { dropped }),
  };
}

/** Errors are not reported, because the status is computed again anyway. */
function coerceStatus(raw: unknown): NodePoolStatus | undefined {
  const status = read(raw, STATUS_SCHEMA);
  if (!isObject(status)) return undefined;
  const { observedGeneration, ...rest } = status;
  const isNever = observedGeneration === NEVER_OBSERVED;
  if (isNever && Object.keys(rest).length === 0) return undefined;
  const { conditions, allocatable } = status;
  return {
    ...((isNever ? rest : status) as unknown as NodePoolStatus),
    ...(isObject(allocatable) ? { allocatable: asTexts(allocatable) } : {}),
    ...(Array.isArray(conditions) ? { conditions: coerceConditions(conditions) } : {}),
  };
}

function asTexts(list: Record<string, unknown>): ResourceList {
  // Nearly always.
  if (Object.values(list).every(value => typeof value === 'string')) return list as ResourceList;
  return Object.fromEntries(Object.entries(list).map(([name, value]) => [name, String(value)]));
}

/** Results of coerceConditions(): a pool is coerced when it is read, counted and printed. */
const coerced = new WeakSet<unknown[]>();

/** Keeps what the server would accept: the first condition of each type with a valid status. Drops invalid times. */
export function coerceConditions(raw: unknown[]): Condition[] {
  if (coerced.has(raw)) return raw as Condition[];
  const kept = new Map<string, Condition>();
  for (const item of raw) {
    const condition = read(item, CONDITION_SCHEMA);
    if (!isObject(condition)) continue;
    const { lastTransitionTime, ...rest } = condition as unknown as Condition;
    if (!/^(True|False|Unknown)$/.test(rest.status) || kept.has(rest.type)) continue;
    const isTime = !Number.isNaN(Date.parse(lastTransitionTime));
    kept.set(rest.type, (isTime ? { ...rest, lastTransitionTime } : rest) as Condition);
  }
  const conditions = [...kept.values()];
  coerced.add(conditions);
  return conditions;
}

/** Checks before copying: nearly all pools have the right types, and a check takes a third of the time. */
function read(value: unknown, schema: Schema, path = '', errors: FieldError[] = []): unknown {
  return matchesSchema(value, schema) ? value : readBySchema(value, schema, path, { errors, unknownFields: 'dropped' });
}

// Strictly decodes a parsed YAML or JSON document: anything that the server would drop or reject is an error.

/**
 * Checks the kind, field names and field types of a NodePool, not its rules (see validation.ts). Removes nulls, as the
 * server does; a missing spec becomes an empty one.
 *
 * @param source of the value, for errors: a file name, `stdin`
 * @param placeOf the source of one field, if known more precisely
 * @throws NodepoolError `input`, naming each wrong field
 */
export function decodePool(value: unknown, source: string, placeOf?: (field: string) => string): NodePool {
  if (!isObject(value)) {
    throw new NodepoolError(
      'input',
      `${source}: expected a NodePool, found ${describeValue(value)}`,
      'start the object with apiVersion, kind, metadata and spec',
    );
  }
  checkKind(value, source);
  const errors: FieldError[] = [];
  const decoded = readBySchema(value, POOL_SCHEMA, '', { errors, unknownFields: 'refused' });
  if (errors.length > 0) throw fieldErrors(source, errors, placeOf);
  return { spec: {}, ...(decoded as Omit<NodePool, 'spec'>) };
}

/** The pool without status and server-set metadata, for kubectl create, which rejects a resourceVersion. */
export function withoutServerFields(pool: NodePool): NodePool {
  const { name, labels, annotations, finalizers, ownerReferences } = pool.metadata;
  const metadata: ObjectMeta = {
    name,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
  return { apiVersion: pool.apiVersion, kind: pool.kind, metadata, spec: pool.spec };
}

function checkKind(value: Record<string, unknown>, source: string): void {
  const { apiVersion, kind } = value;
  if (apiVersion === API_VERSION && kind === 'NodePool') return;
  const found = [`apiVersion ${describeValue(apiVersion)}`, `kind ${describeValue(kind)}`].join(' and ');
  const next =
    kind === 'NodePool' || apiVersion === undefined || kind === undefined
      ? `use apiVersion: ${API_VERSION} and kind: NodePool`
      : 'use kubectl create for objects of other kinds';
  throw new NodepoolError('input', `${source}: not a NodePool: found ${found}`, next);
}
