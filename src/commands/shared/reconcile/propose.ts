/** What a one-shot run over all pools, or the named ones, would do. */
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import type { Warning } from '../../../nodepool/errors.ts';
import { firstFew, noun } from '../../../nodepool/text.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import type { Proposal } from '../consent/consent.ts';
import { emptyPoolWarnings } from '../consent/no-match.ts';
import { deletedBy, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { joiningWarnings, leavesText, wouldLeaveText } from '../consent/warnings.ts';
import { loadClusterState, selectPools } from '../pools/load-cluster-state.ts';
import { allPermitted } from '../refusals.ts';

/** Nodes that a question names. */
const MAX_NAMED = 5;

export interface ProposeDeps {
  cluster: ClusterPort;
  workloads: () => Promise<WorkloadsPort>;
  now?: () => Date;
  /** Pods by node, to be counted into the status; without it they are not. */
  podCounts?: () => Promise<ReadonlyMap<string, number>>;
}

/** What a run is going to do; nothing is written yet. */
export interface ProposedReconcile extends Proposal {
  state: ClusterState;
  pods: ReadonlyMap<string, number> | undefined;
  pools: string[];
  plan: ClusterPlan;
  /** About workloads that name a RuntimeClass which is deleted, and which nodes the selectors match. */
  warnings: Warning[];
}

/**
 * @param names empty: every pool. Throws NodepoolError when one is not found
 * @param released after an edit of the nodeSelector: nodes whose release was shown. It asks about others
 */
export async function proposeReconcile(
  names: string[],
  { cluster, podCounts, workloads, now = () => new Date() }: ProposeDeps,
  released?: ReadonlySet<string>,
): Promise<ProposedReconcile> {
  const [state, pods] = await allPermitted([loadClusterState(cluster), podCounts?.() ?? Promise.resolve(undefined)]);
  const pools = selectPools('reconcile', state, names);
  const plan = planCluster(state, { pools }, now());
  const deleted = deletedBy(plan);
  const { warnings, ...users } = await findRuntimeClassUsers(deleted, workloads);
  const selection = [...joiningWarnings(state, pools, plan), ...emptyPoolWarnings(state, pools)];
  const proposed = { state, pods, pools, plan, asksImpactOf: plan, warnings: [...selection, ...warnings] };
  const late = released === undefined ? [] : leavingIn(plan, pools).filter(({ node }) => !released.has(node));
  // Without a workload that names it, a RuntimeClass can be created again as it was.
  const classes = users.covers.length === 0 ? [] : deleted;
  const what = [
    ...(classes.length === 0 ? [] : [`delete ${noun(classes.length, 'RuntimeClass')} ${classes.join(', ')}`]),
    ...late.map(({ node, pool }) => `let node ${node} leave pool ${pool}`),
  ];
  if (what.length === 0) return proposed;
  const leaves = [...Map.groupBy(late, ({ pool }) => pool)].map(([pool, { length }]) => wouldLeaveText(length, pool));
  const question = {
    text: `Reconcile, and ${firstFew(what, MAX_NAMED)}?`,
    covers: [...late.map(({ node }) => leavesText(node)), ...users.covers],
    needsYes: [...leaves, ...(users.needsYes === undefined ? [] : [users.needsYes])].join('; '),
  };
  return { ...proposed, question };
}

function leavingIn({ nodes }: ClusterPlan, pools: readonly string[]): { node: string; pool: string }[] {
  return nodes.flatMap(({ node, previous, owner }) =>
    previous !== undefined && owner !== previous && pools.includes(previous)
      ? [{ node: node.name, pool: previous }]
      : [],
  );
}
