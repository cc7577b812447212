/** Removes the NodePool definition, and with it every pool: so it refuses, or releases their nodes first. */
import { NodepoolError } from '../nodepool/errors.ts';
import { summarized } from '../reconciler/failure.ts';
import type { View } from '../reconciler/view.ts';
import { deletePools, findPools } from './delete.ts';
import { type Approve, releasePlans } from './evictions.ts';
import { loadView } from './load-view.ts';
import type { DefinitionPort, DryRun, ManifestObject, ManifestsPort, PoolsPort } from './ports.ts';
import { type PoolSummary, type ReconcileDeps, reconcileView } from './reconcile.ts';

export interface UninstallOptions {
  /** Releases and deletes the pools that exist, instead of refusing. */
  cascade: boolean;
  /** The objects of the controller in the cluster, which has to go first. */
  controller: ManifestObject[];
  dryRun: DryRun;
  /** How long the server may take to remove the definition. */
  timeoutMs: number;
  concurrency: number;
}

/** What stands in the way of removing the definition, all of it by name. */
export interface Leftovers {
  pools: string[];
  /** Pools that are gone, and how many nodes still carry what they applied. */
  orphans: { pool: string; nodes: number }[];
}

export interface UninstallDeps {
  cluster: ReconcileDeps['cluster'];
  pools: PoolsPort;
  definition: DefinitionPort;
  manifests: ManifestsPort;
  /** Asked for when nodes are to be released; stopped at the end. */
  work(): Promise<ReconcileDeps & { stop(): void }>;
  /** Asked once, before the first write; false ends it. */
  confirm(found: Leftovers): Promise<boolean>;
  /** Asked after it, and with a dry run alone, where nodes are to be released; throws when it is not to be. */
  approve?: Approve;
}

export type UninstallOutcome =
  | { kind: 'absent' }
  | { kind: 'declined' }
  /** With a dry run: what would have been deleted and released. */
  | { kind: 'deleted'; found: Leftovers };

/** Throws NodepoolError while the controller runs, while something is left and cascade is not set, and when the server refuses or the time is over. */
export async function uninstall(options: UninstallOptions, deps: UninstallDeps): Promise<UninstallOutcome> {
  const definition = await deps.definition.get();
  if (definition === undefined) return { kind: 'absent' };
  await refuseWithController(options.controller, deps.manifests);
  const view = await loadView(deps.cluster);
  const found = leftovers(view);
  if (!isEmpty(found) && !options.cascade) throw stillUsed(found);
  if (options.dryRun === 'none' && !(await deps.confirm(found))) return { kind: 'declined' };
  if (!isEmpty(found)) await deps.approve?.(async () => releasePlans(view, view.poolNames()));
  if (options.dryRun === 'client') return { kind: 'deleted', found };
  if (options.dryRun === 'server') {
    await deps.definition.delete(definition, { dryRun: true });
    return { kind: 'deleted', found };
  }
  // The definition goes last: its deletion would delete the pools while no one releases their nodes.
  if (!isEmpty(found)) {
    const work = await deps.work();
    await release(found.pools, options.concurrency, { ...work, pools: deps.pools }).finally(work.stop);
  }
  await deps.definition.delete(definition, { dryRun: false });
  await deps.definition.waitUntilGone(options.timeoutMs);
  return { kind: 'deleted', found };
}

/** Without the resource it would fail for ever, and say so on every start. */
async function refuseWithController(controller: ManifestObject[], manifests: ManifestsPort): Promise<void> {
  for (const object of controller.filter(({ kind }) => kind === 'Deployment')) {
    if ((await manifests.get(object)) === undefined) continue;
    const { name, namespace } = object.metadata;
    throw new NodepoolError(
      'input',
      `the controller is in the cluster: deployment ${name} in namespace ${namespace}`,
      'remove it first: kubectl nodepool uninstall --controller',
    );
  }
}

/** Deletes the pools, then lets go of the nodes of those that were gone before. Throws with the reasons. */
async function release(
  names: string[],
  concurrency: number,
  deps: ReconcileDeps & { pools: PoolsPort },
): Promise<void> {
  const pools = await findPools({ names, detachNodes: false, ignoreNotFound: true }, deps.pools);
  const options = { concurrency, dryRun: false };
  const deleted = await deletePools({ ...options, pools, detachNodes: false }, deps);
  throwFailures(deleted.map(({ summary }) => summary));
  const view = await loadView(deps.cluster);
  const { pools: left, orphans } = leftovers(view);
  if (left.length > 0) throw notReleased(left);
  const released = orphans.map(({ pool }) => pool);
  const summaries = await reconcileView(view, released, options, deps);
  throwFailures(summaries);
  // The list did not have them, and the server has.
  const found = summaries.filter(({ outcome }) => outcome?.kind === 'reconciled').map(({ pool }) => pool);
  if (found.length > 0) throw notReleased(found);
}

function leftovers(view: View): Leftovers {
  const names = view.poolNames();
  return {
    pools: names.filter(name => view.pool(name) !== undefined),
    orphans: names.filter(name => view.pool(name) === undefined).map(pool => ({ pool, nodes: view.held(pool).length })),
  };
}

function isEmpty({ pools, orphans }: Leftovers): boolean {
  return pools.length === 0 && orphans.length === 0;
}

function throwFailures(summaries: PoolSummary[]): void {
  const failures = summaries.flatMap(({ error, outcome }) =>
    error === undefined ? (outcome?.failures ?? []) : [{ message: error.oneLine, next: error.next }],
  );
  const kinds = summarized(failures);
  const [first] = kinds;
  if (first === undefined) return;
  const items = kinds.length === 1 ? [] : kinds.map(({ message }) => message);
  const next = kinds.find(kind => kind.next !== undefined)?.next ?? 'run uninstall again to finish';
  const message = kinds.length === 1 ? first.message : `${failures.length} writes failed:`;
  throw new NodepoolError('cluster', message, next, { items });
}

function stillUsed({ pools, orphans }: Leftovers): NodepoolError {
  const nodes = orphans.reduce((sum, orphan) => sum + orphan.nodes, 0);
  const names = orphans.map(({ pool }) => pool);
  const what = [
    ...(pools.length > 0
      ? [`${pools.length === 1 ? '1 pool exists' : `${pools.length} pools exist`}: ${few(pools)}`]
      : []),
    ...(nodes > 0
      ? [
          `${nodes === 1 ? '1 node still carries' : `${nodes} nodes still carry`} what pools that are gone applied: ${few(names)}`,
        ]
      : []),
  ];
  const next =
    pools.length > 0
      ? 'delete them first, or add --cascade, which releases their nodes and deletes them'
      : 'release them with `kubectl nodepool reconcile`, or add --cascade, which does so';
  return new NodepoolError('input', what.join('; '), next);
}

function few(names: string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}

function notReleased(pools: string[]): NodepoolError {
  return new NodepoolError(
    'cluster',
    `the resource stays, since these pools could not be deleted or are new: ${pools.join(', ')}`,
    `see kubectl nodepool describe ${pools[0]}, then run uninstall again`,
  );
}
