/**
 * Pools of a cluster whose definition of the resource is, or once was, another one may hold anything. What has the wrong
 * type is left out where pools are read, and remembered: all that comes after relies on the types, and a pool with
 * something left out is invalid, whatever the rest of it says (validation.ts).
 */
import { droppedFields } from './dropped-fields.ts';
import type { FieldError } from './field-error.ts';
import { isObject } from './json.ts';
import { CONDITION_SCHEMA, type Schema, SPEC_SCHEMA, STATUS_SCHEMA } from './schema.ts';
import { fits, readTyped } from './typed.ts';
import type { Condition, NodePool, NodePoolSpec, NodePoolStatus } from './types.ts';

/** @param raw with metadata as the server has it: those of any object are checked there */
export function coercePool<P extends NodePool>(raw: P): P {
  const errors: FieldError[] = [];
  const spec = read(raw.spec ?? {}, SPEC_SCHEMA, 'spec', errors) ?? {};
  const { status: _status, ...rest } = raw;
  const dropped = droppedFields(raw);
  errors.push(
    ...dropped.map(field => ({
      field: `spec.${field}`,
      message: 'is dropped by the CRD that is installed, or was lost under such a CRD',
    })),
  );
  const status = coerceStatus(raw.status);
  return {
    ...rest,
    spec: spec as NodePoolSpec,
    ...(status === undefined ? {} : { status }),
    ...(errors.length === 0 ? {} : { unreadable: errors }),
    ...(dropped.length === 0 ? {} : { dropped }),
  } as P;
}

/** It is computed anew in any case: what is wrong with it is nobody's to mend. */
function coerceStatus(raw: unknown): NodePoolStatus | undefined {
  const status = read(raw, STATUS_SCHEMA);
  if (!isObject(status)) return undefined;
  const { conditions, allocatable } = status;
  return {
    ...(status as unknown as NodePoolStatus),
    ...(isObject(allocatable)
      ? { allocatable: Object.fromEntries(Object.entries(allocatable).map(([name, value]) => [name, String(value)])) }
      : {}),
    ...(Array.isArray(conditions) ? { conditions: coerceConditions(conditions) } : {}),
  };
}

/** Those that the server would take again: the first of each type, with a status and a time that are such. */
function coerceConditions(raw: unknown[]): Condition[] {
  const sound = new Map<string, Condition>();
  for (const item of raw) {
    const condition = read(item, CONDITION_SCHEMA);
    if (!isObject(condition)) continue;
    const { lastTransitionTime, ...rest } = condition as unknown as Condition;
    if (!/^(True|False|Unknown)$/.test(rest.status) || sound.has(rest.type)) continue;
    const isTime = !Number.isNaN(Date.parse(lastTransitionTime));
    sound.set(rest.type, (isTime ? { ...rest, lastTransitionTime } : rest) as Condition);
  }
  return [...sound.values()];
}

/** Nearly all of them are sound, and to see that takes a third of the time of a copy. */
function read(value: unknown, schema: Schema, path = '', errors: FieldError[] = []): unknown {
  return fits(value, schema) ? value : readTyped(value, schema, path, { errors, unknownFields: 'dropped' });
}
