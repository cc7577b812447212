/**
 * The order of resourceVersions. Kubernetes promises since 1.35 that those of one resource are decimal numbers that
 * grow and may be compared; etcd's always were. They have 64 bits, so they are compared as text, never as numbers.
 */
const DECIMAL = /^[1-9][0-9]*$/;

/** Below 0 when `a` is older, above 0 when it is newer; undefined when either is not of that form: nothing is known. */
export function compareVersions(a: string, b: string): number | undefined {
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** False too when nothing is known. */
export function isOlder(a: string, b: string): boolean {
  return (compareVersions(a, b) ?? 0) < 0;
}
