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

/** RFC 7386. Shares unchanged values with `target`. */
export function applyMergePatch(target: unknown, patch: Record<string, unknown>): Record<string, unknown> {
  const result = { ...asObject(target) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else setOwn(result, key, isObject(value) ? applyMergePatch(own(result, key), value) : value);
  }
  return result;
}

/** The paths that two merge patches of one object set to different values. */
export function overlap(a: Record<string, unknown>, b: Record<string, unknown>, path: string[] = []): string[][] {
  return Object.keys(a)
    .filter(key => Object.hasOwn(b, key) && !deepEqual(a[key], b[key]))
    .flatMap(key => {
      const [left, right] = [a[key], b[key]];
      const here = [...path, key];
      return isObject(left) && isObject(right) ? overlap(left, right, here) : [here];
    });
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
