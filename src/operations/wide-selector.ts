/** Warns of expressions that match every node, or control-plane nodes: a node can match by not having a label. */

import { isSelectorKnown } from '../nodepool/known-selector.ts';
import { firstFew, plural } from '../nodepool/plural.ts';
import {
  isControlPlane,
  matches,
  membershipSelector,
  quotedSelector,
  ROLE_PREFIX,
  requiredLabel,
} from '../nodepool/selector.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import type { Warning } from '../nodepool/warning.ts';

const MAX_NAMED = 5;

/** Undefined for a pool that names the labels of its nodes and has none of the control plane. */
export function wideWarning(
  pool: NodePool,
  nodes: readonly (Pick<Node, 'labels'> & { name?: string })[],
): Warning | undefined {
  if (pool.spec.matchExpressions === undefined || !isSelectorKnown(pool)) return undefined;
  const selector = membershipSelector(pool);
  const selected = nodes.filter(({ labels }) => matches(selector, labels));
  const controlPlane = selected.filter(({ labels }) => isControlPlane(labels));
  const needsNone = requiredLabel(selector) === undefined;
  if (controlPlane.length === 0 && !needsNone) return undefined;
  const names = controlPlane.flatMap(({ name }) => name ?? []).toSorted();
  const of = names.length === 0 ? '' : `: ${firstFew(names, MAX_NAMED)}`;
  const among = controlPlane.length === 0 ? '' : `, ${controlPlane.length} of them of the control plane${of}`;
  const { name } = pool.metadata;
  const rest = needsNone ? '; it requires no label, so that new nodes join by themselves' : '';
  const narrow = `--node-selector '!${ROLE_PREFIX}control-plane'`;
  return {
    message: `pool ${name} selects ${plural(selected.length, 'node')}${among}${rest}`,
    next: `${controlPlane.length === 0 ? '' : `leave the control plane out with \`kubectl nodepool edit ${name} ${narrow}\`, or `}see them with \`kubectl get nodes -l ${quotedSelector(selector)}\``,
  };
}
