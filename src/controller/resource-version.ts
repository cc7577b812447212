/** Decimal since Kubernetes 1.35, and always in etcd. The numbers have 64 bits, so they are compared as text. */
const DECIMAL = /^[1-9][0-9]*$/;

/** Negative if `a` is older, positive if it is newer; undefined if either is not decimal. */
export function compareVersions(a: string, b: string): number | undefined {
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** False also if the versions cannot be compared. */
export function isOlder(a: string, b: string): boolean {
  return (compareVersions(a, b) ?? 0) < 0;
}
