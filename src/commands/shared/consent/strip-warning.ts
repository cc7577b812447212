/** `unmanaged: Remove` takes labels that clouds, CNIs and GPU operators set; the first plan that does so says it. */

import type { Warning } from '../../../nodepool/errors.ts';
import { dueOf } from '../../../nodepool/plan/plan.ts';
import type { AppliedRecord } from '../../../nodepool/plan/record.ts';
import { plural } from '../../../nodepool/text.ts';
import { nodePlan } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

/**
 * @param areShown the changes, below the warning
 * @param among which nodes they are made, if not all
 */
export function firstStripWarning(
  state: ClusterState,
  name: string,
  { areShown = false, among }: { areShown?: boolean; among?: Pick<ReadonlyMap<string, unknown>, 'has'> } = {},
): Warning[] {
  if (state.pool(name)?.spec.unmanaged !== 'Remove') return [];
  const held = state.managedNodes(name);
  const before = held.some(node => strips(state.ownership(node.name)?.record));
  const written = among === undefined ? held : held.filter(node => among.has(node.name));
  const nodes = written.filter(node =>
    dueOf(nodePlan(state, node.name))?.changes.some(change => change.reason === 'unmanaged'),
  );
  if (before || nodes.length === 0) return [];
  const next = areShown ? undefined : `see them with \`kubectl nodepool diff ${name}\``;
  const message = `pool ${name} has unmanaged: Remove: labels and taints of ${plural(nodes.length, 'node')} that the pool does not set are removed, including those of cloud, CNI and GPU software; they are restored when the pool releases the nodes`;
  return [{ message, next }];
}

/** Whether the pool that wrote the record has stripped something already. */
function strips(record: AppliedRecord | undefined): boolean {
  return [...(record?.labels.values() ?? []), ...(record?.taints.values() ?? [])].some(slot => slot.value === null);
}

// What questions say about nodes that leave a pool.

/** As a yes covers it. */
export function leavesText(node: string): string {
  return `node ${node} leaves`;
}

/** Why a script needs --yes. */
export function wouldLeaveText(nodes: number, pool: string): string {
  return `${plural(nodes, 'node')} would leave pool ${pool}`;
}
