/** Deletes pools and releases their nodes itself, so it needs no controller. */

import { withoutType } from '../../../cli/unknown/unknown-flag.ts';
import { createLimiter } from '../../../controller/limiter.ts';
import type { ClusterReader, NodePoolsClient, RawPool, RuntimeClassesClient } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import {
  hasDefaultSelector,
  keysOf,
  membershipSelector,
  needsLabel,
  ROLE_PREFIX,
} from '../../../nodepool/membership/selector.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { firstFew, noun, plural } from '../../../nodepool/text.ts';
import { API_VERSION, FINALIZER, type NodePool } from '../../../nodepool/types.ts';
import type { NodeMove } from '../../../reconciler/outcome.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import { type Intent, nodesOf, stateAfter, stateBefore } from '../../../reconciler/plan/intent.ts';
import type { MembershipChange, MembershipChanges } from '../../../reconciler/plan/membership-change.ts';
import { ClusterState, clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { recreatedError, stillExistsError } from '../../../reconciler/state/live-reads.ts';
import { addFinalizer } from '../../../reconciler/write/pool-metadata.ts';
import { NO_CHANGE, type Proposal, planOrError } from '../consent/consent.ts';
import { classesDeletedWith, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { firstStripWarning } from '../consent/warnings.ts';
import { mayEvict } from '../impact/taint-evictions.ts';
import { chosenPools, chosenText, MAX_NAMED, type PoolChoice } from '../pools/choose-pools.ts';
import { loadClusterState } from '../pools/load-cluster-state.ts';
import { type NamesDeps, namesToSuggest, poolNotFound } from '../pools/not-found.ts';
import { type ApplyOptions, apply, movesOf, notUpToDate, type PoolResult } from '../reconcile/apply.ts';

export interface DeleteOptions extends ApplyOptions {
  /** From findPools(): a pool that was recreated since then is not deleted. */
  pools: readonly RawPool[];
  /** Also remove the label `node-role.kubernetes.io/<pool>` from the nodes. */
  detachNodes: boolean;
}

export interface DeleteResult extends PoolResult {
  /** Number of nodes that were written because the pool released them. */
  released: number;
  /** For each pool, how many of these nodes it owns now. */
  nextOwners: ReadonlyMap<string, number>;
  /** Number of nodes that lost their membership label. */
  detached: number;
  /** Other finalizers that keep the pool; empty if the pool is gone. */
  finalizers: string[];
}

/** If it is killed at any point, the same call completes the work. Continues if a pool cannot be deleted. */
export async function deletePools(options: DeleteOptions): Promise<DeleteResult[]> {
  const { pools, detachNodes } = options;
  if (pools.length === 0) return [];
  // Limits pools, not requests, which the transport limits: after Ctrl-C no further pool is started.
  const limitPools = createLimiter(options.concurrency);
  const errors = new Map<string, NodepoolError>();
  const attempt = async (pool: RawPool, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      errors.set(pool.metadata.name, error);
    }
  };
  const begun: RawPool[] = [];
  const begin = async (pool: RawPool) => {
    if (options.signal?.aborted) return;
    begun.push(pool);
    await attempt(pool, () => beginDeletion(pool, options));
  };

  await Promise.all(pools.map(pool => limitPools(() => begin(pool))));
  const state = await loadClusterState(options.cluster);
  const isDeleting = ({ metadata }: RawPool) => !errors.has(metadata.name);
  for (const pool of begun.filter(isDeleting)) {
    await attempt(pool, async () => assertDeleting(pool, state, options));
  }
  const deleting = begun.filter(isDeleting);
  const finalizers = new Map(deleting.map(({ metadata: { name } }) => [name, foreignFinalizers(state.pool(name))]));
  const intent = deletionIntent(state, namesOf(deleting), detachNodes);
  const former = formerOwners(state, intent);
  const nextPools = new Set(planCluster(state, intent).nodes.flatMap(({ owner }) => owner ?? []));
  options.warn([...nextPools].toSorted().flatMap(pool => firstStripWarning(state, pool, { among: former })));

  const deleted = new Map(deleting.map(({ metadata: { name, uid = '' } }) => [name, uid]));
  const { chosen, others } = await apply(state, intent, { ...options, deleted });
  const moves = movesOf([...chosen, ...others]);
  // A node without a record has no values of the pool to release; it gets the values of its next owner.
  const formerOf = ({ node, from, to }: NodeMove) => from ?? (to === undefined ? undefined : former.get(node));
  const released = Map.groupBy(moves, formerOf);
  // The deletion continues nevertheless.
  options.warn(others.flatMap(notUpToDate));
  return pools.map(({ metadata: { name } }) => ({
    ...(chosen.find(({ pool }) => pool === name) ?? { pool: name, outcome: undefined, error: errors.get(name) }),
    released: released.get(name)?.length ?? 0,
    nextOwners: nextOwners(released.get(name) ?? []),
    detached: moves.filter(move => isDetachedFrom(name, move)).length,
    finalizers: finalizers.get(name) ?? [],
  }));
}

function isDetachedFrom(pool: string, { changes }: NodeMove): boolean {
  return changes.some(({ reason, key }) => reason === 'membership' && key === detachedLabel(pool));
}

function namesOf(pools: readonly RawPool[]): string[] {
  return pools.map(({ metadata }) => metadata.name);
}

/** How many nodes went to which pool. */
function nextOwners(moves: readonly NodeMove[]): Map<string, number> {
  const owners = new Map<string, number>();
  for (const { to } of moves) if (to !== undefined) owners.set(to, (owners.get(to) ?? 0) + 1);
  return owners;
}

async function beginDeletion(pool: RawPool, options: ApplyOptions): Promise<void> {
  // Without the finalizer, the pool would be deleted before its RuntimeClass. If fields have wrong types, the server
  // refuses it; such a pool has no RuntimeClass, unless it was valid earlier and still has the finalizer from then.
  if (coercePool(pool).unreadable === undefined) {
    await addFinalizer(pool, { ...options, limitObjects: work => work(), state: new ClusterState([pool], [], []) });
  }
  await options.cluster.pools.delete(pool);
}

/** Throws if another pool now has the name. If the pool is gone, values that it left on nodes are still released. */
function assertDeleting(pool: RawPool, state: ClusterState, { cluster, now }: ApplyOptions): void {
  const { name, uid } = pool.metadata;
  const current = state.pool(name);
  if (current === undefined) return;
  if (current.metadata.uid === uid) {
    if (cluster.isDryRun) state.setPool(withDeletionTimestamp(current, now()));
    if (state.pool(name)?.metadata.deletionTimestamp !== undefined) return;
    throw stillExistsError(`cannot delete NodePool "${name}"`);
  }
  throw recreatedError(name, 'deleted');
}

function withDeletionTimestamp(pool: NodePool, now: Date): NodePool {
  return { ...pool, metadata: { ...pool.metadata, deletionTimestamp: now.toISOString() } };
}

function foreignFinalizers(pool: NodePool | undefined): string[] {
  return (pool?.metadata.finalizers ?? []).filter(finalizer => finalizer !== FINALIZER);
}

// The intent of a deletion, shared by the question before it and the release.

/** @param detachNodes remove the default membership labels of the pools from nodes */
function deletionIntent(state: ClusterState, pools: readonly string[], detachNodes: boolean): Intent {
  const intent: Intent = { pools, isDeletion: true };
  return detachNodes ? { ...intent, changes: detachments(state, intent) } : intent;
}

/** For each node, the pool that owned it before the deletion. */
function formerOwners(state: ClusterState, deletion: Intent): Map<string, string> {
  const before = stateBefore(state, deletion);
  const owners = deletion.pools.flatMap(pool => before.managedNodes(pool).map(({ name }) => [name, pool] as const));
  return new Map(owners);
}

/** Removes the membership label with the patch that releases the node: after a kill, the next run finds the rest. */
function detachments(state: ClusterState, deletion: Intent): MembershipChanges {
  const [former, after] = [formerOwners(state, deletion), stateAfter(state, deletion)];
  const labels = new Map<string, Record<string, null>>();
  const changes = new Map<string, MembershipChange>();
  for (const name of deletion.pools) {
    // A controller may have deleted the pool in the meantime. Only pools with the default selector detach nodes.
    const pool = after.pool(name) ?? { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec: {} };
    for (const node of after.matching(pool)) {
      const ownership = after.ownership(node.name);
      // The pool has a deletionTimestamp, so another pool that matches the node owns it now.
      const isItsOwn = [ownership?.owner, ownership?.record?.pool, former.get(node.name)].includes(name);
      if (ownership?.owner !== undefined && !isItsOwn) continue;
      const removed = { ...labels.get(node.name), [detachedLabel(name)]: null };
      labels.set(node.name, removed);
      changes.set(node.name, { pool: name, to: undefined, labels: () => removed });
    }
  }
  return changes;
}

/** The label that --detach-nodes removes, only for pools without a nodeSelector. */
function detachedLabel(pool: string): string {
  return `${ROLE_PREFIX}${pool}`;
}

// What a deletion of pools would do, for the question before it. Nothing is written.

type FindOptions = PoolChoice & {
  ignoreNotFound: boolean;
  detachNodes: boolean;
};

interface ProposeDeps {
  cluster: ClusterReader &
    NamesDeps & {
      pools: Pick<NodePoolsClient, 'get' | 'list'>;
      runtimeClasses: Pick<RuntimeClassesClient, 'list'>;
    };
  workloads: () => Promise<WorkloadsPort>;
}

interface ProposedDeletion extends Proposal {
  pools: RawPool[];
  /** An error with the names that do not exist; the other pools are deleted. */
  missing: NodepoolError | undefined;
}

/**
 * @param choice readsNodes: always read the nodes, to show or count them; else only if their release may evict pods.
 * Throws NodepoolError if none of the names exists or the nodes of a pool cannot be detached.
 */
export async function proposeDeletion(
  { readsNodes, ...choice }: FindOptions & { readsNodes: boolean },
  { cluster, workloads }: ProposeDeps,
): Promise<ProposedDeletion> {
  const { pools, missing } = await findPools(choice, cluster);
  if (pools.length === 0) return { pools, missing, plan: NO_CHANGE };
  const names = pools.map(({ metadata }) => metadata.name);
  const counts = new Map(pools.map(({ metadata, status }) => [metadata.name, status?.nodeCount ?? 0]));
  const covers = pools.map(({ metadata }) => `pool ${metadata.uid}`);
  const classes = await cluster.runtimeClasses.list();
  const plan = await planOrError(async (): Promise<ClusterPlan> => {
    const existing = await cluster.pools.listCoerced();
    const nodes = readsNodes || mayEvict(existing) ? await cluster.nodes.list() : undefined;
    const state = clusterStateOf(cluster, existing, nodes ?? [], classes);
    const intent = deletionIntent(state, names, choice.detachNodes);
    if (nodes !== undefined) {
      const before = stateBefore(state, intent);
      covers.push(...nodesOf(intent, before, state).map(node => `node ${node}`));
      for (const name of names) counts.set(name, before.managedNodes(name).length);
    }
    return planCluster(state, intent);
  });
  const users = await findRuntimeClassUsers(classesDeletedWith(pools, classes), workloads);
  covers.push(...users.covers);
  const what = names.map(name => `${name} (releases ${plural(counts.get(name) ?? 0, 'node')})`);
  const { losses } = users;
  const needsYes = needsYesFor('names' in choice ? [] : names, losses);
  const all = what.length <= MAX_NAMED ? '' : `; ${plural(total(counts), 'node')} in all`;
  const action = `Delete ${noun(names.length, 'pool')} ${firstFew(what, MAX_NAMED)}${all}${removedText(plan)}`;
  return { pools, missing, plan, action, question: { losses, covers, needsYes } };
}

/** Maximum number of keys named in the question. */
const MAX_KEYS = 3;

/** `, removing label tier, taints a:NoSchedule, b:NoExecute and 1 more`; empty if nothing is removed or known. */
function removedText(plan: ProposedDeletion['plan']): string {
  if (plan instanceof NodepoolError) return '';
  const removed = plan.nodes.flatMap(({ changes }) => changes.filter(({ to }) => to === undefined));
  const parts = (['label', 'taint', 'annotation'] as const).flatMap(kind => {
    const ofKind = removed.filter(change => change.kind === kind);
    const keys = [...new Set(ofKind.map(({ key, effect }) => (effect === undefined ? key : `${key}:${effect}`)))];
    return keys.length === 0 ? [] : [`${noun(keys.length, kind)} ${firstFew(keys.toSorted(), MAX_KEYS)}`];
  });
  return parts.length === 0 ? '' : `, removing ${parts.join(', ')}`;
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** @param pools those that a script's command line does not name, and may not mean */
export function needsYesFor(pools: readonly string[], losses: readonly string[]): string[] | undefined {
  if (pools.length > 0) return [chosenText(pools, 'deleted')];
  return losses.length === 0 ? undefined : [];
}

/**
 * The existing pools, and an error for the others, as kubectl does. Throws if none exists, or if nodes cannot be
 * detached, or after a type, as in `delete node web`: the user may not mean the pool of that name.
 */
export async function findPools(
  { ignoreNotFound, detachNodes, ...choice }: FindOptions,
  cluster: NamesDeps & { pools: Pick<NodePoolsClient, 'get' | 'list'> },
): Promise<{ pools: RawPool[]; missing: NodepoolError | undefined }> {
  const { found, missing: names } = await chosenPools(choice, cluster.pools);
  const isTyped = withoutType('delete', names) !== undefined;
  const isError = names.length > 0 && (isTyped || !ignoreNotFound);
  const missing = isError ? poolNotFound('delete', names, await namesToSuggest('delete', names, cluster)) : undefined;
  if (missing !== undefined && (isTyped || found.length === 0)) throw missing;
  const selecting = found.find(pool => !hasDefaultSelector(pool.spec));
  if (detachNodes && selecting !== undefined) throw notDetachable(selecting);
  return { pools: found, missing };
}

/** Labels of a nodeSelector may be older than the pool, such as a cloud's: this command must not remove them. */
function notDetachable(pool: NodePool): NodepoolError {
  const { metadata, spec } = pool;
  const { name } = metadata;
  const field = spec.nodeSelector === undefined ? 'spec.matchExpressions' : 'spec.nodeSelector';
  const keys = keysOf({ ...membershipSelector(pool), expressions: (spec.matchExpressions ?? []).filter(needsLabel) });
  const unlabel =
    keys.length === 0
      ? ''
      : `, and remove the labels yourself: \`kubectl label node NODE ${keys.map(key => `${key}-`).join(' ')}\``;
  return new NodepoolError(
    'input',
    `--detach-nodes: pool ${name} selects by ${field}, and others may have set these labels`,
    `leave out --detach-nodes${unlabel}`,
  );
}
