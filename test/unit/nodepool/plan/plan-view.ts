/** Plans as tests compare them: the kind and the resulting changes. */
import {
  dueOf,
  isRolloutStep,
  isUnread,
  planMerge as makePlan,
  type NodePlan,
} from '../../../../src/nodepool/plan/plan.ts';
import { planWhileWaiting as makeWaitingPlan } from '../../../../src/nodepool/plan/plan-while-waiting.ts';
import { planMembershipChange as makeChange } from '../../../../src/reconciler/plan/membership-change.ts';

export function viewOf(plan: NodePlan) {
  const { kind, node, owner, previous } = plan;
  const due = dueOf(plan);
  return {
    ...{ kind, node, owner, previous, changes: due?.changes ?? [], patch: due?.patch, drain: due?.drain },
    ...{ isRolloutStep: isRolloutStep(plan), isUnread: isUnread(plan) },
    isCleared: due?.kind === 'write' && due.isCleared === true,
    withheld: due?.kind === 'write' ? due.withheld : undefined,
  };
}

export const planMerge = (...of: Parameters<typeof makePlan>) => viewOf(makePlan(...of));
export const planWhileWaiting = (...of: Parameters<typeof makeWaitingPlan>) => viewOf(makeWaitingPlan(...of));

export function planMembershipChange(...of: Parameters<typeof makeChange>) {
  const plan = makeChange(...of);
  return plan && viewOf(plan);
}
