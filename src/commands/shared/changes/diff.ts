/**
 * What `reconcile` would change of labels, taints and RuntimeClasses, without writing it. Bookkeeping alone (a record,
 * a status, a finalizer) is no difference; records and counts are notes.
 */
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import type { NodepoolError, Warning } from '../../../nodepool/errors.ts';
import { dueOf } from '../../../nodepool/plan/plan.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import { mayWait, planOf } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { allPermitted, permitted } from '../attempt.ts';
import { deletedBy, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { firstStripWarning } from '../consent/strip-warning.ts';
import { joiningWarnings } from '../consent/wide-selector.ts';
import type { FoundImpact } from '../impact/find-impact.ts';
import { loadClusterState, selectPools } from '../pools/load-cluster-state.ts';
import { unreadText, withSetters } from './drift-setters.ts';

export interface Diff {
  plan: ClusterPlan;
  warnings: Warning[];
  notes: string[];
  /** Only where it was asked for. */
  impact?: FoundImpact;
  /** Why the plan has no RuntimeClasses: the user may not list them. */
  forbidden?: NodepoolError;
}

/** @param find finds the impact of the plan */
export async function diff(
  names: string[],
  deps: { cluster: ClusterPort; workloads: () => Promise<WorkloadsPort>; now?: () => Date },
  find?: (plan: ClusterPlan, state: ClusterState) => Promise<FoundImpact>,
): Promise<Diff> {
  const listing = deps.cluster.runtimeClasses.list();
  const reading = permitted(listing);
  const loading = loadClusterState(
    deps.cluster,
    reading.then(classes => ('value' in classes ? classes.value : [])),
  );
  // Where pools or nodes are forbidden as well, one error names all that is.
  const [state] = await loading.then(
    loaded => [loaded] as const,
    () => allPermitted([loading, listing]),
  );
  const classes = await reading;
  const pools = selectPools('diff', state, names);
  const warnings: Warning[] = pools.flatMap(pool => firstStripWarning(state, pool, { areShown: true }));
  const plan = planCluster(state, { pools }, deps.now?.() ?? new Date());
  warnings.push(...joiningWarnings(state, pools, plan));
  warnings.push(...(await findRuntimeClassUsers(deletedBy(plan), deps.workloads)).warnings);
  const { planned, unread } = await withSetters([...plan.nodes, ...plan.later], deps.cluster.nodes);
  const nodes = planned.slice(0, plan.nodes.length);
  const later = planned.slice(plan.nodes.length);
  if (unread > 0) warnings.push(unreadText(unread));
  const notes = pools.flatMap(name => {
    const pool = state.pool(name);
    return pool === undefined || !state.isStaying(name)
      ? []
      : notRecorded(state, pool).map(text => `pool ${name}: ${text}`);
  });
  const found = await find?.(plan, state);
  if (found !== undefined) warnings.push(...found.warnings);
  const rest = { warnings, notes, ...(found === undefined ? {} : { impact: found }) };
  if ('value' in classes) return { ...rest, plan: { ...plan, nodes, later } };
  return { ...rest, plan: { ...plan, nodes, later, runtimeClasses: [] }, forbidden: classes.forbidden };
}

// What a reconcile writes of a pool although no label, taint or RuntimeClass differs: records on nodes, and counts.

const MAX_NAMED = 10;

/** A text for each thing that is not up to date. A pool that was never reconciled has no counts yet. */
export function notRecorded(state: ClusterState, pool: NodePool): string[] {
  const { name } = pool.metadata;
  const due = state.held(name).flatMap(node => {
    const plan = planOf(state, node.name);
    const isOfRecord = plan !== undefined && dueOf(plan)?.changes.length === 0 && !mayWait(plan);
    return isOfRecord ? [plan] : [];
  });
  const nodes = (kept: boolean) =>
    due.flatMap(({ node, owner }) => ((owner !== undefined) === kept ? [node.name] : []));
  const [lacking, left] = [nodes(true), nodes(false)];
  const named = (names: string[]) => firstFew(names.toSorted(), MAX_NAMED);
  return [
    ...(lacking.length === 0
      ? []
      : [
          `${plural(lacking.length, 'node')} ${lacking.length === 1 ? 'has' : 'have'} no valid record of the pool: ${named(lacking)}`,
        ]),
    ...(left.length === 0
      ? []
      : [
          `${plural(left.length, 'node')} left and still ${left.length === 1 ? 'has' : 'have'} its record: ${named(left)}`,
        ]),
    ...countsText(state, pool),
  ];
}

function countsText(state: ClusterState, { metadata: { name }, status }: NodePool): string[] {
  if (status?.status === undefined) return [];
  const members = state.members(name);
  const ready = members.filter(node => node.ready).length;
  const { nodeCount, readyNodeCount = ready } = status;
  if (nodeCount === members.length && readyNodeCount === ready) return [];
  const counts = (nodes: number, readyNodes: number) => `${plural(nodes, 'node')}, ${readyNodes} Ready`;
  return [
    `its status is out of date: it says ${counts(nodeCount, readyNodeCount)}, and the pool has ${counts(members.length, ready)}`,
  ];
}
