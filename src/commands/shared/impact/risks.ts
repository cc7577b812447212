/** Whether the impact of a plan is worth a question: changes that can cost a pod its place, and what they do. */
import type { Change } from '../../../nodepool/plan/change.ts';
import { allChanges } from '../../../nodepool/plan/plan.ts';
import { type ClusterPlan, plansToTheEnd } from '../../../reconciler/plan/cluster-plan.ts';
import { isClosing } from '../../../scheduling/impact/shut-out.ts';
import type { Impact } from '../../../scheduling/impact/types.ts';

/** A name for each label that changes, and each taint that comes and keeps pods away, by node. */
export function risksOf(all: Pick<ClusterPlan, 'nodes' | 'later'>): string[] {
  return plansToTheEnd(all).flatMap(plan =>
    allChanges(plan)
      .filter(isRisk)
      .map(({ kind, key, effect = '', to }) => JSON.stringify([plan.node.name, kind, key, effect, to ?? null])),
  );
}

/** Whether a pod stops, leaves, or could not come back, or an object selects a node otherwise. */
export function isWorthAsking({ keys, daemonSets, notAgain, evicted }: Impact): boolean {
  const isSelected = keys.some(
    ({ change, selectedBy }) =>
      change.from !== undefined && selectedBy.some(({ isPreferred, isAffected }) => isAffected && !isPreferred),
  );
  return (
    isSelected ||
    keys.some(({ shutOut }) => shutOut.length > 0) ||
    notAgain.length > 0 ||
    evicted.length > 0 ||
    daemonSets.some(({ stops }) => stops.length > 0)
  );
}

function isRisk(change: Change): boolean {
  // A label that comes keeps pods away, too, by NotIn and DoesNotExist.
  return change.kind === 'label' ? change.from !== change.to : isClosing(change);
}
