/** What a deletion of pools would do, for the question before it. Nothing is written. */
import { withoutType } from '../../../cli/unknown/other-kinds.ts';
import type { ClusterReader, NodePoolsClient, RawPool, RuntimeClassesClient } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { hasDefaultSelector, keysOf, membershipSelector, needsLabel } from '../../../nodepool/membership/selector.ts';
import { noun, plural } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import { nodesOf, stateBefore } from '../../../reconciler/plan/intent.ts';
import { clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { NO_CHANGE, type Proposal, planOrError } from '../consent/consent.ts';
import { classesDeletedWith, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { mayEvict } from '../impact/taint-evictions.ts';
import { chosenPools, chosenText, type PoolChoice } from '../pools/choose-pools.ts';
import { type NamesDeps, namesToSuggest, poolNotFound } from '../pools/not-found.ts';
import { deletionIntent } from './delete.ts';

export type FindOptions = PoolChoice & {
  /** Ignore pools that are not found. */
  ignoreNotFound: boolean;
  detachNodes: boolean;
};

export interface ProposeDeps {
  cluster: ClusterReader &
    NamesDeps & {
      pools: Pick<NodePoolsClient, 'get' | 'list'>;
      runtimeClasses: Pick<RuntimeClassesClient, 'list'>;
    };
  workloads: () => Promise<WorkloadsPort>;
}

export interface ProposedDeletion extends Proposal {
  pools: RawPool[];
  /** The names that do not exist, as an error; the other pools are deleted. */
  missing: NodepoolError | undefined;
  /** About workloads that name a RuntimeClass which is deleted. */
  warnings: string[];
}

/**
 * @param choice readsNodes: the nodes are read in any case, to show or count them; else only where their release may evict
 * pods. Throws NodepoolError when none of the names exists or the nodes of a pool cannot be detached.
 */
export async function proposeDeletion(
  { readsNodes, ...choice }: FindOptions & { readsNodes: boolean },
  { cluster, workloads }: ProposeDeps,
): Promise<ProposedDeletion> {
  const { pools, missing } = await findPools(choice, cluster);
  if (pools.length === 0) return { pools, missing, plan: NO_CHANGE, warnings: [] };
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
  // The command line names them otherwise.
  const needsYes = 'names' in choice ? users.needsYes : needsYesFor(names, users.needsYes);
  const text = `Delete ${noun(names.length, 'pool')} ${what.join(', ')}?`;
  return { pools, missing, plan, warnings: users.warnings, question: { text, covers, needsYes } };
}

/** For a script whose command line does not name the pools: they may not be the ones that it means. */
export function needsYesFor(pools: readonly string[], users: string | undefined): string | undefined {
  if (pools.length === 0) return users;
  const what = chosenText(pools, 'deleted');
  return users === undefined ? what : `${what}; ${users}`;
}

/**
 * As kubectl, the pools that exist and an error for the others. Throws when none does, or nodes cannot be detached; and after
 * a type, as in `delete node web`, where the user may have meant another object than the pool of that name.
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

/** Labels of a selector may be older than the pool, a cloud's for one: they are not this command's to take. */
function notDetachable(pool: NodePool): NodepoolError {
  const { metadata, spec } = pool;
  const { name } = metadata;
  const field = spec.nodeSelector === undefined ? 'spec.matchExpressions' : 'spec.nodeSelector';
  const keys = keysOf({ ...membershipSelector(pool), expressions: (spec.matchExpressions ?? []).filter(needsLabel) });
  const unlabel =
    keys.length === 0
      ? ''
      : `, and unlabel the nodes by hand: \`kubectl label node NODE ${keys.map(key => `${key}-`).join(' ')}\``;
  return new NodepoolError(
    'input',
    `--detach-nodes: nodepool ${name} finds its nodes by ${field}, whose labels others may have set`,
    `leave out --detach-nodes${unlabel}`,
  );
}
