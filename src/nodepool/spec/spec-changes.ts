/** What differs between two specs of a pool, field by field, for people. */
import { isObject, own } from '../json.ts';
import { deepEqual } from '../merge-patch.ts';

export interface SpecChange {
  /** As `spec.labels[tier]`, `spec.taints[gold:NoSchedule]`, `spec.handler`. */
  path: string;
  /** Undefined where there was none. */
  from: unknown;
  to: unknown;
}

/** Fields that this version does not know, too. Sorted by path. */
export function specChanges(before: object, after: object): SpecChange[] {
  const [from, to] = [parts(before), parts(after)];
  return [...new Set([...from.keys(), ...to.keys()])]
    .toSorted()
    .map(path => ({ path, from: from.get(path), to: to.get(path) }))
    .filter(change => !deepEqual(change.from, change.to));
}

function parts(spec: object): Map<string, unknown> {
  return new Map(Object.entries(spec).flatMap(([field, value]) => partsOf(`spec.${field}`, value)));
}

function partsOf(path: string, value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map((item, at) => [`${path}[${keyOf(item) ?? at}]`, restOf(item)]);
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.keys(value).map(key => [`${path}[${key}]`, own(value, key)]);
  return [[path, value]];
}

/** Of a taint. */
function keyOf(item: unknown): string | undefined {
  return isObject(item) && typeof item.effect === 'string' ? `${item.key}:${item.effect}` : undefined;
}

function restOf(item: unknown): unknown {
  if (keyOf(item) === undefined || !isObject(item)) return item;
  const { key: _key, effect: _effect, value = '', ...rest } = item;
  return Object.keys(rest).length === 0 ? value : { value, ...rest };
}
