/** What a one-shot run over all or the named pools would do. */

import type { ClusterPort } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import type { Warning } from '../../../nodepool/errors.ts';
import { defined } from '../../../nodepool/json.ts';
import { firstFew, noun } from '../../../nodepool/text.ts';
import { nodesText } from '../../../print/names.ts';
import { changedNodes } from '../../../print/question.ts';
import { type ClusterPlan, planCluster, plansToTheEnd } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import type { EarlierWrite, Proposal } from '../consent/consent.ts';
import { emptyPoolWarnings } from '../consent/no-match.ts';
import { deletedBy, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { joiningWarnings, leavePoolText, leavesText } from '../consent/warnings.ts';
import { MAX_NAMED } from '../pools/choose-pools.ts';
import { loadClusterState, selectPools } from '../pools/load-cluster-state.ts';
import { allPermitted } from '../refusals.ts';

export interface ProposeDeps {
  cluster: ClusterPort;
  workloads: () => Promise<WorkloadsPort>;
  now?: () => Date;
  /** Pods per node, to be counted into the status; without it they are not counted. */
  podCounts?: () => Promise<ReadonlyMap<string, number>>;
}

/** For `--wait`, which makes all steps of a rollout: an approval covers all steps. */
export interface Steps {
  /** In later steps, named pools may have been deleted. */
  isFirst: boolean;
  /** By earlier steps. */
  written: EarlierWrite | undefined;
}

/** The planned run; nothing is written yet. */
export interface ProposedReconcile extends Proposal {
  state: ClusterState;
  pods: ReadonlyMap<string, number> | undefined;
  pools: string[];
  plan: ClusterPlan;
  /** About the nodes that the selectors match. */
  warnings: Warning[];
}

/** @param names empty: every pool @param released nodes whose release was shown @param steps undefined: the next */
export async function proposeReconcile(
  names: string[],
  { cluster, podCounts, workloads, now = () => cluster.nodes.serverTime() }: ProposeDeps,
  released?: ReadonlySet<string>,
  steps?: Steps,
): Promise<ProposedReconcile> {
  const [state, pods] = await allPermitted([loadClusterState(cluster), podCounts?.() ?? Promise.resolve(undefined)]);
  const known = new Set(state.poolNames());
  const pools =
    steps === undefined || steps.isFirst
      ? selectPools('reconcile', state, names)
      : names.filter(name => known.has(name));
  const next = planCluster(state, { pools }, now());
  const plan = steps === undefined ? next : { ...next, nodes: plansToTheEnd(next), later: pausedIn(next) };
  const { covers, losses } = await findRuntimeClassUsers(deletedBy(plan), workloads);
  const warnings = [...joiningWarnings(state, pools, plan), ...emptyPoolWarnings(state, pools)];
  const changed = changedNodes(plan.nodes);
  const ofPools = names.length === 0 ? 'all pools' : `${noun(pools.length, 'pool')} ${firstFew(pools, MAX_NAMED)}`;
  const action = `Reconcile ${ofPools}${changed.length === 0 ? '' : ` and change ${nodesText(changed)}`}`;
  const proposed = {
    state,
    pods,
    pools,
    plan,
    action,
    asksImpactOf: plan,
    warnings,
    ...defined({ written: steps?.written }),
  };
  const late = released === undefined ? [] : leavingIn(plan, pools).filter(({ node }) => !released.has(node));
  const leaves = [...Map.groupBy(late, ({ pool }) => pool)].map(([pool, nodes]) =>
    leavePoolText(
      nodes.map(({ node }) => node),
      pool,
    ),
  );
  // If no workload uses it, a RuntimeClass can simply be created again.
  if (leaves.length + losses.length === 0) return proposed;
  const question = {
    losses: [...leaves, ...losses],
    covers: [...late.map(({ node }) => leavesText(node)), ...covers],
    needsYes: [],
  };
  return { ...proposed, question };
}

function pausedIn({ later }: ClusterPlan): ClusterPlan['later'] {
  return later.filter(({ pausedBy }) => pausedBy !== undefined);
}

function leavingIn({ nodes }: ClusterPlan, pools: readonly string[]): { node: string; pool: string }[] {
  return nodes.flatMap(({ node, previous, owner }) =>
    previous !== undefined && owner !== previous && pools.includes(previous)
      ? [{ node: node.name, pool: previous }]
      : [],
  );
}
