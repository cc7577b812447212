/**
 * Warnings before a write about selectors that match too much and about labels and taints of others that a pool
 * removes, and texts for questions about nodes that leave a pool.
 */
import type { LabelledNode } from '../../../kube/resources/nodes.ts';
import type { Warning } from '../../../nodepool/errors.ts';
import {
  controlPlaneRoles,
  isControlPlane,
  isEmpty,
  matches,
  membershipSelector,
  quotedSelector,
  requiredLabel,
  requiresControlPlane,
} from '../../../nodepool/membership/selector.ts';
import { dueOf } from '../../../nodepool/plan/plan.ts';
import type { AppliedRecord } from '../../../nodepool/plan/record.ts';
import { isSelectorKnown } from '../../../nodepool/spec/validation.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { nodesText } from '../../../print/names.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { nodePlan } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

const MAX_NAMED = 5;

/** Undefined for a pool that requires a label and either has no control-plane nodes or selects their role. */
export function wideWarning(pool: NodePool, nodes: readonly LabelledNode[]): Warning | undefined {
  if (!isSelectorKnown(pool)) return undefined;
  const selector = membershipSelector(pool);
  if (isEmpty(selector) || requiresControlPlane(selector)) return undefined;
  const selected = nodes.filter(({ labels }) => matches(selector, labels));
  const controlPlane = selected.filter(({ labels }) => isControlPlane(labels));
  const needsNone = requiredLabel(selector) === undefined;
  if (controlPlane.length === 0 && !needsNone) return undefined;
  const names = controlPlane.map(({ name }) => name).toSorted();
  const among =
    names.length === 0 ? '' : `, ${names.length} of them in the control plane: ${firstFew(names, MAX_NAMED)}`;
  const { name } = pool.metadata;
  const rest = needsNone ? '; its selector requires no label, so new nodes join automatically' : '';
  const roles = new Set(controlPlane.flatMap(({ labels }) => controlPlaneRoles(labels)));
  const narrow = `--node-selector '${[...roles]
    .toSorted()
    .map(role => `!${role}`)
    .join()}'`;
  return {
    message: `pool ${name} selects ${plural(selected.length, 'node')}${among}${rest}`,
    next: `${controlPlane.length === 0 ? '' : `exclude the control plane with \`kubectl nodepool edit ${name} ${narrow}\`, or `}see them with \`kubectl get nodes -l ${quotedSelector(selector)}\``,
  };
}

/** For pools that control-plane nodes join according to the plan. */
export function joiningWarnings(state: ClusterState, pools: readonly string[], { nodes }: ClusterPlan): Warning[] {
  const joined = new Set(
    nodes.flatMap(({ node, owner, previous }) => (owner !== previous && isControlPlane(node.labels) ? owner : [])),
  );
  return pools.flatMap(name => {
    const pool = joined.has(name) ? state.pool(name) : undefined;
    return (pool && wideWarning(pool, state.matching(pool))) ?? [];
  });
}

// `unmanaged: Remove` also removes labels of clouds, CNIs and GPU operators; the first plan that does so warns.

/** @param areShown the changes follow the warning @param among the nodes with changes, if not all */
export function firstStripWarning(
  state: ClusterState,
  name: string,
  { areShown = false, among }: { areShown?: boolean; among?: Pick<ReadonlyMap<string, unknown>, 'has'> } = {},
): Warning[] {
  if (state.pool(name)?.spec.unmanaged !== 'Remove') return [];
  const owned = state.managedNodes(name);
  const before = owned.some(node => removedUnmanaged(state.ownership(node.name)?.record));
  const written = among === undefined ? owned : owned.filter(node => among.has(node.name));
  const nodes = written.filter(node =>
    dueOf(nodePlan(state, node.name))?.changes.some(change => change.reason === 'unmanaged'),
  );
  if (before || nodes.length === 0) return [];
  const next = areShown ? undefined : `see them with \`kubectl nodepool diff ${name}\``;
  const message = `pool ${name} has unmanaged: Remove: other labels and taints of ${plural(nodes.length, 'node')} are removed, including those of cloud, CNI and GPU software; they are restored when the pool releases the nodes`;
  return [{ message, next }];
}

/** Whether the pool that wrote the record has already removed unmanaged values. */
function removedUnmanaged(record: AppliedRecord | undefined): boolean {
  return [...(record?.labels.values() ?? []), ...(record?.taints.values() ?? [])].some(slot => slot.value === null);
}

// Texts for questions about nodes that leave a pool.

/** A text for each item that an approval covers. */
export function leavesText(node: string): string {
  return `node ${node} leaves`;
}

export function leavePoolText(nodes: readonly string[], pool: string): string {
  return `${nodesText(nodes)} would leave pool ${pool}`;
}
