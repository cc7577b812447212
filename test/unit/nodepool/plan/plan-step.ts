/** Applies one plan, for tests of plans. */

import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import type { Birth } from '../../../../src/nodepool/plan/startup-taints.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { planMerge } from './plan-view.ts';

export const YOUNG: Birth = { isYoung: true, wasMember: false, isBooting: false, former: new Map() };

/** Plans, and applies the plan's patch as the server would. */
export function step(
  node: Node,
  owner: NodePool | undefined,
  rivals: NodePool[] = [],
  isCleared = false,
  birth: Birth = YOUNG,
) {
  const plan = planMerge(node, parseRecord(node.record), owner, rivals, isCleared, {}, birth);
  const [labels, annotations] = [{ ...node.labels }, { ...node.annotations }];
  for (const [live, patch] of [
    [labels, plan.patch?.labels ?? {}],
    [annotations, plan.patch?.annotations ?? {}],
  ] as const) {
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete live[key];
      else live[key] = value;
    }
  }
  const { record: _old, ...rest } = node;
  const record = plan.patch?.record === undefined ? node.record : (plan.patch.record ?? undefined);
  const after: Node = {
    ...rest,
    labels,
    taints: plan.patch?.taints ?? node.taints,
    ...(node.annotations === undefined && plan.patch?.annotations === undefined ? {} : { annotations }),
    ...(record === undefined ? {} : { record }),
  };
  const said = plan.changes.map(
    ({ kind, key, effect, action, from, to, reason }) =>
      `${action} ${kind} ${key}${effect ? `:${effect}` : ''} ${from ?? '-'}>${to ?? '-'} (${reason})`,
  );
  return { plan, after, said };
}
