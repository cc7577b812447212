/** Removes the CRD and with it every pool. Refuses if there are pools, or releases their nodes first. */
import type { DryRun } from '../../kube/cluster.ts';
import type { CrdPort } from '../../kube/resources/crd.ts';
import type { ManifestObject, ManifestsPort } from '../../kube/resources/manifests.ts';
import type { WorkloadsPort } from '../../kube/resources/workloads.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import { summarized } from '../../reconciler/outcome.ts';
import { type ClusterPlan, planCluster } from '../../reconciler/plan/cluster-plan.ts';
import { nodesOf, stateBefore } from '../../reconciler/plan/intent.ts';
import type { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { type Approve, agree } from '../shared/consent/consent.ts';
import { classesDeletedWith, findRuntimeClassUsers } from '../shared/consent/runtime-class-users.ts';
import { type DeleteResult, deletePools, findPools, needsYesFor } from '../shared/delete/delete.ts';
import { servedOf } from '../shared/install/admission-policies.ts';
import { isForeign, refuseHelmRelease } from '../shared/install/foreign-objects.ts';
import { MAX_NAMED } from '../shared/pools/choose-pools.ts';
import { loadClusterState } from '../shared/pools/load-cluster-state.ts';
import { type ApplyOptions, apply, movesOf, type PoolResult } from '../shared/reconcile/apply.ts';

export interface UninstallOptions {
  /** Release and delete existing pools instead of refusing. */
  cascade: boolean;
  /** The objects of the controller in the cluster, which must be removed first. */
  controller: ManifestObject[];
  /** The policy that gives new nodes their pool's labels and taints, and its binding. */
  bornInPool: ManifestObject[];
  /** The policies that restrict kubelets, and their bindings. */
  policies: ManifestObject[];
  dryRun: DryRun;
  /** How long to wait until the server has removed the CRD. */
  timeoutMs: number;
}

/** Names of what still uses the CRD, and must be deleted or released first. */
export interface CrdUsage {
  pools: string[];
  /** The number of nodes of these pools. */
  nodes: number;
  /** Deleted pools, and the number of nodes with their records. */
  orphans: { pool: string; nodes: number }[];
}

export interface UninstallDeps {
  cluster: ApplyOptions['cluster'];
  crd: CrdPort;
  manifests: ManifestsPort;
  workloads: () => Promise<WorkloadsPort>;
  /** Runs the function that releases nodes. */
  releasing(release: (options: ApplyOptions) => Promise<void>): Promise<void>;
  /** Removes the CRD, with a signal that ends the wait. */
  stoppable(work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** A text that says what is to be deleted and released. @param policies number of admission policies, with bindings */
  actionOf(found: CrdUsage, policies: number): string;
  approve: Approve;
}

export type UninstallOutcome =
  /** There is no CRD; `policies` are those still installed. */
  | { kind: 'absent'; policies: ManifestObject[] }
  | { kind: 'declined' }
  /** In a dry run: what the plan would have deleted and released. */
  | {
      kind: 'deleted';
      found: CrdUsage;
      plan: ClusterPlan;
      results: DeleteResult[];
      /** Deleted before the pools. */
      bornInPool: ManifestObject[];
      /** Deleted after the pools: the policies that restrict kubelets. */
      protections: ManifestObject[];
    };

/** Throws NodepoolError while the controller runs, if something is left without cascade, on a refusal or a timeout. */
export async function uninstall(options: UninstallOptions, deps: UninstallDeps): Promise<UninstallOutcome> {
  const crd = await deps.crd.get();
  const bornInPool = await installed(await servedOf(options.bornInPool, deps.manifests), deps.manifests);
  const protections = await installed(options.policies, deps.manifests);
  if (crd === undefined) return { kind: 'absent', policies: [...bornInPool, ...protections] };
  await refuseWithController(options.controller, deps.manifests);
  const agreed = await agree(async () => {
    const state = await loadClusterState(deps.cluster);
    const found = usageOf(state);
    if (!isEmpty(found) && !options.cascade) throw stillUsed(found);
    const intent = { pools: state.poolNames(), isDeletion: true };
    const covers = nodesOf(intent, stateBefore(state, intent), state).map(node => `node ${node}`);
    const pools = [...state.pools()];
    const uids = pools.map(({ metadata }) => `pool ${metadata.uid}`);
    const users = await findRuntimeClassUsers(classesDeletedWith(pools, state.runtimeClasses()), deps.workloads);
    const { losses } = users;
    const all = ['the CRD', ...uids, ...covers, ...users.covers];
    const question = { losses, covers: all, needsYes: needsYesFor(found.pools, losses) };
    return {
      found,
      plan: planCluster(state, intent),
      action: deps.actionOf(found, bornInPool.length + protections.length),
      question,
    };
  }, deps.approve);
  if (agreed === undefined) return { kind: 'declined' };
  const { found, plan } = agreed.proposal;
  const deleted = { kind: 'deleted', found, plan, bornInPool, protections } as const;
  if (options.dryRun === 'client') return { ...deleted, results: [] };
  // Deleted first: a node registering in the meantime would keep labels and taints of a deleted pool.
  for (const policy of bornInPool) await deps.manifests.delete(policy);
  if (options.dryRun === 'server') {
    for (const policy of protections) await deps.manifests.delete(policy);
    await deps.crd.delete(crd);
    return { ...deleted, results: [] };
  }
  const results: DeleteResult[] = [];
  // The CRD is deleted last, because that deletes all pools without releasing their nodes.
  if (!isEmpty(found)) {
    const { consent } = agreed;
    await deps.releasing(async work => {
      results.push(...(await release(found.pools, { ...work, consent })));
    });
  }
  // Only when no node has a record that a kubelet could write.
  for (const policy of protections) await deps.manifests.delete(policy);
  await deps.stoppable(async signal => {
    await deps.crd.delete(crd);
    await deps.crd.waitUntilGone(options.timeoutMs, signal);
    if (signal.aborted && (await deps.crd.get()) !== undefined) throw notWaitedFor();
  });
  return { ...deleted, results };
}

/** The existing ones, bindings first. Throws for objects of a Helm release. */
async function installed(objects: readonly ManifestObject[], { get }: ManifestsPort): Promise<ManifestObject[]> {
  const found: ManifestObject[] = [];
  for (const object of objects.toReversed()) {
    const live = await get(object);
    refuseHelmRelease(live, 'uninstall');
    if (live !== undefined) found.push(live);
  }
  return found;
}

/** Throws while the controller is installed: without the CRD it would fail forever. */
async function refuseWithController(controller: ManifestObject[], manifests: ManifestsPort): Promise<void> {
  for (const object of controller.filter(({ kind }) => kind === 'Deployment')) {
    const live = await manifests.get(object);
    if (live === undefined || isForeign(object, live)) continue;
    const { name, namespace } = object.metadata;
    throw new NodepoolError(
      'input',
      `the controller is installed: deployment ${name} in namespace ${namespace}`,
      'first remove the controller: kubectl nodepool uninstall --controller',
    );
  }
}

/** Deletes the pools, then releases nodes of earlier ones. Throws with the reasons. @returns the pools' results */
async function release(names: string[], options: ApplyOptions): Promise<DeleteResult[]> {
  const { pools } = await findPools({ names, detachNodes: false, ignoreNotFound: true }, options.cluster);
  const results = await deletePools({ ...options, pools, detachNodes: false });
  throwFailures(results, options.signal);
  const state = await loadClusterState(options.cluster);
  const { pools: unreleased, orphans } = usageOf(state);
  if (unreleased.length > 0) throw notReleased(unreleased);
  const { chosen } = await apply(state, { pools: orphans.map(({ pool }) => pool) }, options);
  throwFailures(chosen, options.signal);
  // The list did not have these pools, but the server does.
  const found = chosen.filter(({ outcome }) => outcome?.kind === 'reconciled').map(({ pool }) => pool);
  if (found.length > 0) throw notReleased(found);
  return results;
}

function usageOf(state: ClusterState): CrdUsage {
  const names = state.poolNames();
  const pools = names.filter(name => state.pool(name) !== undefined);
  return {
    pools,
    nodes: pools.reduce((sum, pool) => sum + state.managedNodes(pool).length, 0),
    orphans: names
      .filter(name => state.pool(name) === undefined)
      .map(pool => ({ pool, nodes: state.managedNodes(pool).length })),
  };
}

function isEmpty({ pools, orphans }: CrdUsage): boolean {
  return pools.length === 0 && orphans.length === 0;
}

function throwFailures(results: readonly PoolResult[], signal: AbortSignal | undefined): void {
  const isCut = results.some(
    ({ outcome, error }) => outcome?.kind === 'interrupted' || (outcome ?? error) === undefined,
  );
  if (signal?.aborted && isCut) throw interrupted(results);
  const failures = results.flatMap(({ error, outcome }) =>
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

function interrupted(results: readonly PoolResult[]): NodepoolError {
  const unwritten = results.reduce((sum, { outcome }) => sum + (outcome?.unwritten ?? 0), 0);
  return new NodepoolError(
    'interrupted',
    `interrupted: ${plural(movesOf(results).length, 'node')} released, ${plural(unwritten, 'node')} left; the CRD was not deleted`,
    'run uninstall again to finish',
  );
}

function notWaitedFor(): NodepoolError {
  return new NodepoolError(
    'interrupted',
    'interrupted: all nodes are released; the server is still deleting the CRD',
    'no action is needed; to check: kubectl get crd nodepools.nodes.lailin.xyz',
  );
}

function stillUsed({ pools, orphans }: CrdUsage): NodepoolError {
  const nodes = orphans.reduce((sum, orphan) => sum + orphan.nodes, 0);
  const names = orphans.map(({ pool }) => pool);
  const what = [
    ...(pools.length > 0
      ? [`${pools.length === 1 ? '1 pool exists' : `${pools.length} pools exist`}: ${firstFew(pools, MAX_NAMED)}`]
      : []),
    ...(nodes > 0
      ? [
          `${nodes === 1 ? '1 node still has' : `${nodes} nodes still have`} labels or taints of deleted pools: ${firstFew(names, MAX_NAMED)}`,
        ]
      : []),
  ];
  const next =
    pools.length > 0
      ? 'first delete the pools, or add --cascade to release their nodes and delete them'
      : 'release the nodes with `kubectl nodepool reconcile`, or add --cascade';
  return new NodepoolError('input', what.join('; '), next);
}

function notReleased(pools: string[]): NodepoolError {
  return new NodepoolError(
    'cluster',
    `the CRD was not deleted: some pools could not be deleted or are new: ${pools.join(', ')}`,
    `see \`kubectl nodepool describe ${pools[0]}\`, then run uninstall again`,
  );
}
