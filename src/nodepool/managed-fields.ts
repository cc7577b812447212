/**
 * The field managers of an object, by its metadata.managedFields: which client set which field.
 *
 * Not guaranteed: a history. The server keeps one entry for each manager, with the time of its last write to any of its
 * fields; a removed field leaves no entry. A client chooses the name of its manager itself.
 */
import { isObject, ownValue } from './json.ts';
import type { FieldSetter } from './plan/change.ts';
import type { Node } from './types.ts';

export const FIELD_MANAGER = 'kubectl-nodepool';

export interface ManagedFields extends FieldSetter {
  /** `status` if the manager wrote the status subresource. */
  subresource?: string;
  /** fieldsV1, unchanged. */
  fields: unknown;
}

/** Skips malformed entries. */
export function readManagedFields(managedFields: unknown): ManagedFields[] {
  const entries = Array.isArray(managedFields) ? managedFields.filter(isObject) : [];
  return entries.flatMap(({ manager, operation, time, subresource, fieldsV1 }): ManagedFields[] => {
    if (typeof manager !== 'string') return [];
    return [
      {
        manager,
        operation: String(operation),
        ...(typeof time === 'string' ? { time } : {}),
        ...(typeof subresource === 'string' && subresource !== '' ? { subresource } : {}),
        fields: fieldsV1,
      },
    ];
  });
}

/** What the manager owns of a field, as `['metadata', 'labels', 'tier']`; undefined if it does not manage the field. */
export function managedAt({ fields }: Pick<ManagedFields, 'fields'>, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? ownValue(at, `f:${name}`) : undefined), fields);
}

/** The entry of that second; if there are several, the only one with the spec. Undefined if not unique. */
export function creatorOf(
  entries: readonly ManagedFields[],
  creationTimestamp: string | undefined,
): ManagedFields | undefined {
  const early = entries.filter(({ time, subresource }) => time === creationTimestamp && subresource === undefined);
  const candidates = early.length > 1 ? early.filter(entry => managedAt(entry, ['spec']) !== undefined) : early;
  return candidates.length === 1 ? candidates[0] : undefined;
}

/** The manager of the field with the latest write, except this program. */
export function setterOf(managedFields: unknown, path: readonly string[]): FieldSetter | undefined {
  return lastSetter(readManagedFields(managedFields), path);
}

export function lastSetter(entries: readonly ManagedFields[], path: readonly string[]): FieldSetter | undefined {
  const owners = entries.filter(entry => entry.manager !== FIELD_MANAGER && managedAt(entry, path) !== undefined);
  const times = owners.map(({ time = '' }) => Date.parse(time) || 0);
  const last = owners[times.indexOf(Math.max(...times))];
  if (last === undefined) return undefined;
  const { manager, operation, time } = last;
  return { manager, operation, ...(time === undefined ? {} : { time }) };
}

/** A node with additional fields that a reconcile does not need. */
export interface DatedNode {
  node: Node;
  managedFields: readonly ManagedFields[];
  conditions: readonly DatedCondition[];
}

interface DatedCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}
