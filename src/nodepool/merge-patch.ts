import { isObject, own, setOwn } from './json.ts';

/**
 * The RFC 7386 merge patch that turns `before` into `after`; undefined when they are equal.
 * Members missing from `after` are deleted (null). Arrays are replaced whole.
 */
export function mergePatch(before: unknown, after: unknown): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  const [from, to] = [asObject(before), asObject(after)];
  for (const key of Object.keys(from)) {
    if (own(to, key) === undefined && from[key] !== undefined) setOwn(patch, key, null);
  }
  for (const [key, value] of Object.entries(to)) {
    const old = own(from, key);
    if (value === undefined || deepEqual(old, value)) continue;
    setOwn(patch, key, isObject(value) && isObject(old) ? mergePatch(old, value) : value);
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Structural equality of JSON values; a member that is undefined equals one that is not there. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every(key => deepEqual(own(a, key), own(b, key)));
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
