import { isObject, own, setOwn } from './json.ts';

/**
 * The RFC 7386 merge patch from `before` to `after`; undefined when they are equal. Properties missing from `after` are
 * deleted (null). Arrays are replaced as a whole.
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

/** Deep equality of JSON values. An undefined property equals a missing one. */
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
