/** What a reconcile writes even if no label, taint or RuntimeClass differs: records on nodes, and counts. */
import { dueOf } from '../../../nodepool/plan/plan.ts';
import { plural } from '../../../nodepool/text.ts';
import type { NodePool, NodePoolStatus } from '../../../nodepool/types.ts';
import { namesText } from '../../../print/names.ts';
import { mayWait, nodePlan } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

/** A text for each outdated value. A pool that was never reconciled has no counts yet. */
export function notRecorded(state: ClusterState, pool: NodePool): string[] {
  const { name } = pool.metadata;
  const recordPlans = state.managedNodes(name).flatMap(node => {
    const plan = nodePlan(state, node.name);
    const isOfRecord = plan !== undefined && dueOf(plan)?.changes.length === 0 && !mayWait(plan);
    return isOfRecord ? [plan] : [];
  });
  const nodes = (kept: boolean) =>
    recordPlans.flatMap(({ node, owner }) => ((owner !== undefined) === kept ? [node.name] : []));
  const [lacking, stale] = [nodes(true), nodes(false)];
  const named = (names: string[]) => namesText(names.toSorted());
  const have = lacking.length === 1 ? 'has' : 'have';
  const what = pool.status?.status === undefined ? 'missing' : 'missing or not valid';
  return [
    ...(lacking.length === 0
      ? []
      : [
          `record is ${what} on ${plural(lacking.length, 'node')} that already ${have} the pool's values: ${named(lacking)}`,
        ]),
    ...(stale.length === 0
      ? []
      : [`record is still on ${plural(stale.length, 'node')} that left the pool: ${named(stale)}`]),
    ...countsText(state, pool),
  ];
}

function countsText(state: ClusterState, { metadata: { name }, status }: NodePool): string[] {
  if (status?.status === undefined) return [];
  const members = state.members(name);
  const ready = members.filter(node => node.ready).length;
  const { nodeCount, readyNodeCount = ready } = status;
  if (nodeCount === members.length && readyNodeCount === ready)
    return hasNodeConflict(status) && state.lost(name).length === 0
      ? ['status is out of date (node conflict; now none)']
      : [];
  const counts = (nodes: number, readyNodes: number) => `${plural(nodes, 'node')}, ${readyNodes} Ready`;
  return [`status is out of date (${counts(nodeCount, readyNodeCount)}; now ${counts(members.length, ready)})`];
}

function hasNodeConflict({ conditions = [] }: NodePoolStatus): boolean {
  return conditions.some(
    ({ type, status, reason }) => type === 'Conflict' && status === 'True' && reason === 'NodeConflict',
  );
}
