import type { ClusterPort } from '../reconciler/ports.ts';
import { View } from '../reconciler/view.ts';
import { poolNotFound } from './not-found.ts';

/** Everything the reconciler looks at, read at once. Node conditions and quantities only as far as they are used. */
export async function loadView(cluster: ClusterPort): Promise<View> {
  const [pools, nodes, runtimeClasses] = await Promise.all([
    cluster.listPools(),
    cluster.listNodes(),
    cluster.listRuntimeClasses(),
  ]);
  // What the reading left behind would stand beside what the planning needs: see src/kube/collect.ts.
  globalThis.gc?.();
  return new View(pools, nodes, runtimeClasses);
}

/**
 * The pools to act on: the named ones, or all, with the names of gone pools that left records on nodes.
 * Throws when a name is neither.
 */
export function selectPools(view: View, names: string[]): string[] {
  const known = view.poolNames();
  const missing = names.filter(name => !known.includes(name));
  if (missing.length > 0) throw poolNotFound(missing);
  return names.length === 0 ? known : [...new Set(names)];
}
