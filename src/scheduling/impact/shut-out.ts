/** Workloads that no node takes any more because of taints. Between two runs, or without replicas, no pod of theirs says so. */

import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import type { Change } from '../../nodepool/plan/change.ts';
import type { Node } from '../../nodepool/types.ts';
import { firstNodeRefusal, namedNodes } from '../node/node-rules.ts';
import type { LeavingPods } from './leaving-pods.ts';
import { type ChangedKey, causesOf } from './node-keys.ts';
import type { OpenNodes } from './open-nodes.ts';
import { idOf } from './selecting.ts';
import type { PodsImpact, Selecting } from './types.ts';

interface ShutOut {
  workload: Selecting;
  /** Taints. */
  causes: ReadonlySet<ChangedKey>;
}

/** @param open after the change @param reported pods that leave or would not come back: their owners are not reported again */
export function shutOut(
  selecting: readonly Selecting[],
  leaving: readonly LeavingPods[],
  open: OpenNodes,
  reported: readonly Omit<PodsImpact, 'pods'>[],
): ShutOut[] {
  if (!leaving.some(({ keys }) => keys.some(isClosing))) return [];
  const known = new Set(reported.map(({ namespace, owner }) => idOf({ namespace, kind: '', name: '', ...owner })));
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
export function isClosing({ kind, effect, to }: Pick<Change, 'kind' | 'effect' | 'to'>): boolean {
  return kind === 'taint' && to !== undefined && effect !== 'PreferNoSchedule';
}
