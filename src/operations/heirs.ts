/** Nodes of pools that are deleted go to other pools that match them, whose numbers and conflicts are then out of date. */
import { planOf } from '../reconciler/node-plan.ts';
import type { View } from '../reconciler/view.ts';
import { asIfStaying } from './as-if-staying.ts';
import { type ReconcileDeps, type ReconcileOptions, reconcileOnly, type Settled } from './reconcile.ts';

/** What the deleted pools had, as it stood before anything was let go. */
export interface Estate {
  /** By name of the node, the pool that it is taken from. */
  formerPool: Map<string, string>;
  /** Other pools that share nodes with them: they get them, or lose them to each other. */
  heirs: string[];
}

/** @param deleted names of pools, on their way out or gone */
export function estateOf(view: View, deleted: readonly string[]): Estate {
  const isDeleted = new Set(deleted);
  const formerPool = new Map<string, string>();
  const heirs = new Set<string>();
  // Mostly no other pool is there: then nothing is to be found.
  if (![...view.pools()].some(({ metadata }) => !isDeleted.has(metadata.name))) return { formerPool, heirs: [] };
  const before = asIfStaying(view, isDeleted);
  for (const name of deleted) {
    for (const node of before.held(name)) {
      formerPool.set(node.name, name);
      // By a label that comes back it may go to a pool that does not match it yet.
      const heir = planOf(view, node.name)?.owner;
      if (heir !== undefined && !isDeleted.has(heir)) heirs.add(heir);
    }
    // Those that have a node already are among them: a release that was killed may have given it to them.
    for (const pool of before.neighbours(name)) if (!isDeleted.has(pool)) heirs.add(pool);
  }
  return { formerPool, heirs: [...heirs].toSorted() };
}

/**
 * Gives the heirs of released pools what the release did not bring them: nodes that had no record, status, events.
 * Their other nodes are not written. A pool that fails does not stop the others.
 */
export function settleHeirs(
  view: View,
  { formerPool, heirs, released }: Estate & { released: ReadonlySet<string> },
  options: Pick<ReconcileOptions, 'concurrency' | 'dryRun'>,
  deps: Omit<ReconcileDeps, 'warn'>,
): Promise<Settled[]> {
  const only = new Set([...formerPool].filter(([, former]) => released.has(former)).map(([node]) => node));
  return reconcileOnly(view, heirs, only, options, deps);
}
