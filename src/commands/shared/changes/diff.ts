/**
 * What `reconcile` would change of labels, taints and RuntimeClasses, without writing it. Bookkeeping alone (a record,
 * a status, a finalizer) is no difference; records and counts are notes.
 */

import type { ClusterPort } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import type { NodepoolError, Warning } from '../../../nodepool/errors.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { allPermitted, permitted } from '../attempt.ts';
import { deletedBy, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { firstStripWarning } from '../consent/strip-warning.ts';
import { joiningWarnings } from '../consent/wide-selector.ts';
import type { FoundImpact } from '../impact/find-impact.ts';
import { loadClusterState, selectPools } from '../pools/load-cluster-state.ts';
import { unreadText, withSetters } from './drift-setters.ts';
import { notRecorded } from './not-recorded.ts';

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
    return pool === undefined || !state.isActive(name)
      ? []
      : notRecorded(state, pool).map(text => `pool ${name}: ${text}`);
  });
  const found = await find?.(plan, state);
  if (found !== undefined) warnings.push(...found.warnings);
  const rest = { warnings, notes, ...(found === undefined ? {} : { impact: found }) };
  if ('value' in classes) return { ...rest, plan: { ...plan, nodes, later } };
  return { ...rest, plan: { ...plan, nodes, later, runtimeClasses: [] }, forbidden: classes.forbidden };
}
