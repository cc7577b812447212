/** Whether a JSON value is an object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of the object itself: a label, or a name that somebody typed, may be `constructor`. */
export function own<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a member of the object itself: by assignment, `__proto__` would change what the object inherits, or do nothing. */
export function setOwn<T>(object: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The members that may be undefined, as members that may be absent. */
type Optional<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
type Definite<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] };

/** Without the members that are undefined. */
export function defined<T extends object>(values: T): Definite<T> & Optional<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Definite<T> &
    Optional<T>;
}
