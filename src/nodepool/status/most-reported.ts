/** Which resources are kept when there are too many: a kubelet can report any name, so the most reported come first. */
import { NATIVE_RESOURCES } from '../quantity/node-resources.ts';

/** Native resources first, then by the number of lists that contain them, then by name. */
export function sortByReports(names: readonly string[], lists: Iterable<Iterable<string>>): string[] {
  const reports = new Map<string, number>();
  for (const list of lists) for (const name of list) reports.set(name, (reports.get(name) ?? 0) + 1);
  const rank = (name: string) => (NATIVE_RESOURCES.includes(name) ? Infinity : (reports.get(name) ?? 0));
  return names.toSorted((a, b) => {
    const [first, second] = [rank(a), rank(b)];
    if (first !== second) return first > second ? -1 : 1;
    return a < b ? -1 : 1;
  });
}
