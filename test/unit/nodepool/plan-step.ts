/** Applies one plan, for tests of plans. */
import { planNode } from '../../../src/nodepool/plan.ts';
import { parseRecord } from '../../../src/nodepool/record.ts';
import type { Node, NodePool } from '../../../src/nodepool/types.ts';

/** Plans, and applies the plan's patch as the server would. */
export function step(node: Node, owner: NodePool | undefined, rivals: NodePool[] = []) {
  const plan = planNode(node, parseRecord(node.record), owner, rivals);
  const labels = { ...node.labels };
  for (const [key, value] of Object.entries(plan.patch?.labels ?? {})) {
    if (value === null) delete labels[key];
    else labels[key] = value;
  }
  const { record: _old, ...rest } = node;
  const record = plan.patch?.record === undefined ? node.record : (plan.patch.record ?? undefined);
  const after: Node = {
    ...rest,
    labels,
    taints: plan.patch?.taints ?? node.taints,
    ...(record === undefined ? {} : { record }),
  };
  const said = plan.changes.map(
    ({ kind, key, effect, action, from, to, reason }) =>
      `${action} ${kind} ${key}${effect ? `:${effect}` : ''} ${from ?? '-'}>${to ?? '-'} (${reason})`,
  );
  return { plan, after, said };
}
