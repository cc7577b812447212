/** Which resources stay where there are too many: a kubelet may report any names, and hides none that several nodes have. */
import { NATIVE_RESOURCES } from './node-resources.ts';

/** Native ones first, then those that stand in the most lists, then by name. */
export function byReports(names: readonly string[], lists: Iterable<Iterable<string>>): string[] {
  const reports = new Map<string, number>();
  for (const list of lists) for (const name of list) reports.set(name, (reports.get(name) ?? 0) + 1);
  const rank = (name: string) => (NATIVE_RESOURCES.includes(name) ? Infinity : (reports.get(name) ?? 0));
  return names.toSorted((a, b) => {
    const [first, second] = [rank(a), rank(b)];
    if (first !== second) return first > second ? -1 : 1;
    return a < b ? -1 : 1;
  });
}
