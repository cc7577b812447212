/** Workloads that no node takes any more because of taints. Between two runs, or without replicas, no pod of theirs says so. */
import type { PodPlacement } from '../../nodepool/placement.ts';
import type { Node } from '../../nodepool/types.ts';
import { firstNodeRefusal, namedNodes } from '../node-rules.ts';
import type { LeavingPods } from './leaving-pods.ts';
import { type ChangedKey, causesOf } from './node-keys.ts';
import type { OpenNodes } from './open-nodes.ts';
import type { PodsImpact, Selecting } from './types.ts';

interface ShutOut {
  workload: Selecting;
  /** Taints. */
  causes: ReadonlySet<ChangedKey>;
}

/** @param open after the change @param told pods that leave or would not come back: their owners are told of already */
export function shutOut(
  selecting: readonly Selecting[],
  leaving: readonly LeavingPods[],
  open: OpenNodes,
  told: readonly Omit<PodsImpact, 'pods'>[],
): ShutOut[] {
  if (!leaving.some(({ keys }) => keys.some(isClosing))) return [];
  const known = new Set(told.map(({ namespace, owner }) => idOf({ namespace, kind: '', name: '', ...owner })));
  return selecting.flatMap((workload): ShutOut[] => {
    const { placement } = workload;
    if (placement === undefined || known.has(idOf(workload)) || open.isAny(placement)) return [];
    const causes = new Set(leaving.flatMap(each => closingKeys(each, placement)));
    return causes.size === 0 ? [] : [{ workload, causes }];
  });
}

function closingKeys({ change, keys }: LeavingPods, placement: PodPlacement): ChangedKey[] {
  const named = namedNodes(placement.nodeTerms);
  const isTaken = (node: Node) => firstNodeRefusal(node, placement, named) === undefined;
  return isTaken(change.before) ? causesOf(isTaken, change, keys).filter(isClosing) : [];
}

/** Whether it is a taint that comes and keeps pods away. */
export function isClosing({ kind, effect, to }: ChangedKey): boolean {
  return kind === 'taint' && to !== undefined && effect !== 'PreferNoSchedule';
}

function idOf({ kind, namespace, name }: Pick<Selecting, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace} ${name}`;
}
