/** Rules about cordon, name, taints, affinity and selector. There is no rule for Ready: its taints are checked. */
import {
  isMatching,
  type NodeTerm,
  type PodPlacement,
  toleratesCordon,
  untoleratedTaints,
} from '../../nodepool/drain/placement.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import type { Node, Toleration } from '../../nodepool/types.ts';
import type { UnfitReason } from '../types.ts';

export function judgeUnschedulable(node: Node, placement: PodPlacement): UnfitReason | undefined {
  if (!node.unschedulable || toleratesCordon(placement)) return undefined;
  return { rule: 'unschedulable', words: 'node(s) were unschedulable' };
}

export function judgeName(node: Node, nodeName: string | undefined): UnfitReason | undefined {
  if (nodeName === undefined || nodeName === node.name) return undefined;
  return { rule: 'nodeName', words: "node(s) didn't match the requested node name", detail: `it asks for ${nodeName}` };
}

export function judgeTaints(node: Node, tolerations: readonly Toleration[]): UnfitReason | undefined {
  const taint = untoleratedTaints(node, tolerations);
  if (taint === undefined) return undefined;
  return { rule: 'taints', words: 'node(s) had untolerated taint(s)', detail: formatTaint(taint) };
}

/** Like the kubelet, which ignores other taints when it admits pods. */
export function judgeNoExecute(node: Node, tolerations: readonly Toleration[]): UnfitReason | undefined {
  return judgeTaints({ ...node, taints: node.taints.filter(({ effect }) => effect === 'NoExecute') }, tolerations);
}

export function judgeAffinity(node: Node, placement: PodPlacement): UnfitReason | undefined {
  if (isMatching(placement, node)) return undefined;
  return { rule: 'nodeAffinity', words: "node(s) didn't match Pod's node affinity/selector" };
}

/** The nodes that the terms name. Undefined: a term names none, so check all nodes. Empty: no node can match. */
export function nodeNamesIn(terms: readonly NodeTerm[] | undefined): ReadonlySet<string> | undefined {
  if (terms === undefined || terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const { matchFields = [] } of terms) {
    const named = matchFields.filter(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (named.length === 0) return undefined;
    const [first, ...others] = named.map(({ values = [] }) => values);
    for (const name of first ?? []) if (others.every(values => values.includes(name))) names.add(name);
  }
  return names;
}

/** The refusal of the first of these rules that fails, except judgeName(). @param named from nodeNamesIn() */
export function firstNodeRefusal(
  node: Node,
  placement: PodPlacement,
  named: ReadonlySet<string> | undefined,
): UnfitReason | undefined {
  if (named !== undefined && !named.has(node.name)) return NOT_NAMED;
  return (
    judgeUnschedulable(node, placement) ?? judgeTaints(node, placement.tolerations) ?? judgeAffinity(node, placement)
  );
}

export const NOT_NAMED: UnfitReason = {
  rule: 'nodeAffinity',
  words: "node(s) didn't satisfy plugin(s) [NodeAffinity]",
  detail: 'the node affinity names other nodes',
};
export const NAMES_CONFLICT: UnfitReason = { rule: 'nodeAffinity', words: 'pod affinity terms conflict' };
