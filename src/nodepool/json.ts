/** JSON values: objects and their own properties, integers, equality, merge patches. */

/** Whether a JSON value is an object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An own property: a label key or a user's input may be `constructor`. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own property: plain assignment to `__proto__` would change the prototype, or do nothing. */
export function setOwn<T>(object: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Properties that may be undefined become optional. */
type Optional<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
type Definite<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] };

/** Removes the properties that are undefined. */
export function defined<T extends object>(values: T): Definite<T> & Optional<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Definite<T> &
    Optional<T>;
}

export const MAX_INT64 = 2n ** 63n - 1n;

/** A sign, and at most 19 digits without leading zeros: longer numbers are out of range, and slow to parse. */
const DECIMAL = /^([+-]?)0*(\d{1,19})$/;

/** As Go's strconv.ParseInt(text, 10, 64); undefined for its errors. */
export function parseInt64(text: string): bigint | undefined {
  const [, sign, digits = ''] = DECIMAL.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** The RFC 7386 merge patch from `before` to `after`; undefined if they are equal. Arrays are replaced as a whole. */
export function mergePatch(before: unknown, after: unknown): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  const [from, to] = [asObject(before), asObject(after)];
  for (const key of Object.keys(from)) {
    if (ownValue(to, key) === undefined && from[key] !== undefined) setOwn(patch, key, null);
  }
  for (const [key, value] of Object.entries(to)) {
    const old = ownValue(from, key);
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
    else setOwn(result, key, isObject(value) ? applyMergePatch(ownValue(result, key), value) : value);
  }
  return result;
}

/** The paths that two merge patches of one object set to different values. */
export function overlappingPaths(
  a: Record<string, unknown>,
  b: Record<string, unknown>,
  path: string[] = [],
): string[][] {
  return Object.keys(a)
    .filter(key => Object.hasOwn(b, key) && !deepEqual(a[key], b[key]))
    .flatMap(key => {
      const [left, right] = [a[key], b[key]];
      const here = [...path, key];
      return isObject(left) && isObject(right) ? overlappingPaths(left, right, here) : [here];
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
  return [...keys].every(key => deepEqual(ownValue(a, key), ownValue(b, key)));
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

export function appendTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
