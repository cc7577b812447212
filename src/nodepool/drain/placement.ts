/**
 * Whether a pod can be scheduled to a node, by its nodeSelector, required node affinity and tolerations, as the
 * scheduler filters nodes. NOT evaluated: resources, volumes, pod (anti-)affinity and topology spread.
 */
import { ownValue } from '../json.ts';
import { meets, meetsNode, type Requirement } from '../membership/label-query.ts';
import { tolerates } from '../spec/taints.ts';
import type { Node, Taint, Toleration } from '../types.ts';

export interface NodeTerm {
  matchExpressions?: Requirement[];
  matchFields?: Requirement[];
}

/** The fields of a node that a node selector term can match. */
type NamedLabels = Pick<Node, 'name' | 'labels'>;

export interface PodPlacement {
  nodeSelector: Record<string, string>;
  /** Terms of the required node affinity: one must match. Undefined: the pod has none. */
  nodeTerms: NodeTerm[] | undefined;
  tolerations: Toleration[];
}

/** `no nodes`: there are none. `no match`: no node matches selector and affinity. `taints`: matching nodes repel it. */
export type UnplacedReason = 'no nodes' | 'no match' | 'taints';

/** @param nodes all Ready and schedulable nodes. Undefined if the pod can be scheduled to one of them */
export function whyUnplaced(placement: PodPlacement, nodes: readonly Node[]): UnplacedReason | undefined {
  if (nodes.length === 0) return 'no nodes';
  const matching = nodes.filter(node => isMatching(placement, node));
  if (matching.length === 0) return 'no match';
  return matching.some(node => untoleratedTaints(node, placement.tolerations) === undefined) ? undefined : 'taints';
}

/** Whether nodeSelector and required node affinity match the node. */
export function isMatching({ nodeSelector, nodeTerms }: Omit<PodPlacement, 'tolerations'>, node: NamedLabels): boolean {
  const isSelected = Object.entries(nodeSelector).every(([key, value]) => ownValue(node.labels, key) === value);
  return isSelected && (nodeTerms === undefined || nodeTerms.some(term => matchesTerm(term, node)));
}

/** A term without requirements matches nothing. */
export function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeTerm,
  { name, labels }: NamedLabels,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every(requirement => meetsNode(requirement, ownValue(labels, requirement.key))) &&
    matchFields.every(requirement => requirement.key === 'metadata.name' && meets(requirement, name))
  );
}

/** The first taint that keeps the pod away because it does not tolerate it. PreferNoSchedule does not count. */
export function untoleratedTaints(
  { taints }: Pick<Node, 'taints'>,
  tolerations: readonly Toleration[],
): Taint | undefined {
  return taints.find(
    taint => taint.effect !== 'PreferNoSchedule' && !tolerations.some(toleration => tolerates(toleration, taint)),
  );
}

/** The taint that the scheduler assumes on a cordoned node. */
export const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Whether the pod can be scheduled to a cordoned node anyway. */
export function toleratesCordon({ tolerations }: Pick<PodPlacement, 'tolerations'>): boolean {
  return tolerations.some(each => tolerates(each, CORDONED));
}
