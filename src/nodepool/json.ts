/** Whether a JSON value is an object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own property: a label key or a name that a user typed may be `constructor`. */
export function own<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own property: a plain assignment to `__proto__` would change the prototype, or do nothing. */
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

/** A sign, and at most 19 digits beside leading zeros: what is longer is out of range, and would be slow to read. */
const DECIMAL = /^([+-]?)0*(\d{1,19})$/;

/** As Go's strconv.ParseInt(text, 10, 64); undefined where that is an error. */
export function parseInt64(text: string): bigint | undefined {
  const [, sign, digits = ''] = DECIMAL.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
