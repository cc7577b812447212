/** Where the scheduler can put evicted pods, one owner after the other: those that come first take the room. */
import { FitReasons } from '../fit-reasons.ts';
import { Judge } from '../judge.ts';
import { place } from '../place.ts';
import { kindOf } from '../pod-kind.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Pod } from '../types.ts';
import type { OpenNodes } from './open-nodes.ts';
import type { Destination } from './types.ts';

/**
 * @param pods of one owner
 * @param snapshot without them; what fits is added
 * @param open of that snapshot
 */
export function destinationOf(pods: readonly Pod[], snapshot: Snapshot, open: OpenNodes): Destination {
  const nodes = new Map<string, number>();
  const reasons = new FitReasons();
  let pending = 0;
  for (const alike of Map.groupBy(pods, kindOf).values()) {
    const [first] = alike;
    if (first === undefined) continue;
    // It is created anew, without the node.
    const pod: Pod = { ...first, nodeName: undefined };
    const { nodes: openNodes, refused } = open.to(pod.placement);
    // Where none is open, the rules of other pods need not be read.
    const placed = openNodes.length === 0 ? undefined : place(pod, openNodes, snapshot, alike.length);
    for (const [node, count] of placed?.byNode ?? []) {
      nodes.set(node, (nodes.get(node) ?? 0) + count);
      for (let at = 0; at < count; at++) snapshot.add(pod, node);
    }
    const left = alike.length - (placed?.replicas ?? 0);
    if (left === 0) continue;
    pending += left;
    const judge = new Judge(pod, snapshot);
    // A refusal of the pod itself comes before the rules of nodes.
    if (judge.refusal === undefined) reasons.addAll(refused);
    const asked = judge.refusal === undefined ? openNodes : snapshot.nodes.keys();
    for (const node of asked) reasons.add(judge.firstWhyNot(node));
  }
  return { nodes, pending, reasons };
}
