/** Warns of selectors that match control-plane nodes without naming their role, and of expressions that require no label. */
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
import { isSelectorKnown } from '../../../nodepool/spec/validation.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

const MAX_NAMED = 5;

/** Undefined for a pool that requires a label and has no control-plane nodes, or names their role. */
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
    names.length === 0 ? '' : `, ${names.length} of them of the control plane: ${firstFew(names, MAX_NAMED)}`;
  const { name } = pool.metadata;
  const rest = needsNone ? '; it requires no label, so that new nodes join by themselves' : '';
  const roles = new Set(controlPlane.flatMap(({ labels }) => controlPlaneRoles(labels)));
  const narrow = `--node-selector '${[...roles]
    .toSorted()
    .map(role => `!${role}`)
    .join()}'`;
  return {
    message: `pool ${name} selects ${plural(selected.length, 'node')}${among}${rest}`,
    next: `${controlPlane.length === 0 ? '' : `leave the control plane out with \`kubectl nodepool edit ${name} ${narrow}\`, or `}see them with \`kubectl get nodes -l ${quotedSelector(selector)}\``,
  };
}

/** Of the pools that control-plane nodes join by the plan. */
export function joiningWarnings(state: ClusterState, pools: readonly string[], { nodes }: ClusterPlan): Warning[] {
  const joined = new Set(
    nodes.flatMap(({ node, owner, previous }) => (owner !== previous && isControlPlane(node.labels) ? owner : [])),
  );
  return pools.flatMap(name => {
    const pool = joined.has(name) ? state.pool(name) : undefined;
    return (pool && wideWarning(pool, state.matching(pool))) ?? [];
  });
}
