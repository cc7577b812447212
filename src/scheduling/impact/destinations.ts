/** Where the scheduler can put evicted pods, one owner after the other: those that come first take the room. */
import { FitReasons } from '../fit-reasons.ts';
import { Judge } from '../judge.ts';
import { place } from '../place.ts';
import type { Snapshot } from '../snapshot.ts';
import type { PodTraits } from '../types.ts';
import type { OpenNodes, OpenTo } from './open-nodes.ts';
import { recreatedPod } from './recreated.ts';
import type { Destination, PodsImpact, RunningPod } from './types.ts';

/** Whether its controller creates no pod before the earlier ones run. @param parallel StatefulSets with podManagementPolicy Parallel */
export function isInOrder({ namespace, owner }: PodsImpact, parallel: ReadonlySet<string>): boolean {
  return owner?.kind === 'StatefulSet' && !parallel.has(`${namespace}/${owner.name}`);
}

/** A Destination that still has the pods: what is shown needs none of 50,000. */
export interface Placed extends Omit<Destination, 'pending' | 'waiting'> {
  /** Which ones of a kind is arbitrary. */
  pending: readonly RunningPod[];
  waiting: readonly RunningPod[];
}

export function destinationOf({ pending, waiting, ...placed }: Placed): Destination {
  return { ...placed, pending: pending.length, waiting: waiting.length };
}

/**
 * @param pods of one owner
 * @param snapshot without them; what fits is added
 * @param open of that snapshot
 * @param inOrder see isInOrder()
 */
export function placeAgain(pods: readonly RunningPod[], snapshot: Snapshot, open: OpenNodes, inOrder: boolean): Placed {
  const [nodes, returns] = [new Map<string, number>(), new Map<string, number>()];
  const pending: RunningPod[] = [];
  let reasons: FitReasons | undefined;
  let returnSeconds = Infinity;
  const waiting: RunningPod[] = [];
  const groups = inOrder
    ? pods.toSorted((a, b) => ordinal(a) - ordinal(b)).map(pod => [pod])
    : Map.groupBy(pods, ({ pod }) => snapshot.parts.traits(pod)).values();
  for (const alike of groups) {
    const [first] = alike;
    if (first === undefined) continue;
    // One that may come back runs until then.
    if (inOrder && pending.some(({ eviction }) => eviction?.mayReturn !== true)) {
      waiting.push(first);
      continue;
    }
    // It is recreated, without the node.
    const pod = recreatedPod(snapshot.parts.traits(first.pod));
    const to = open.to(pod.placement);
    returnSeconds = Math.min(returnSeconds, to.returnSeconds);
    let left = alike.length;
    for (const [taking, found] of [
      [to.nodes, nodes],
      [to.returns, returns],
    ] as const) {
      if (left === 0 || taking.length === 0) continue;
      const placed = place(pod, taking, snapshot, left);
      left -= placed.replicas;
      for (const [node, count] of placed.byNode) {
        found.set(node, (found.get(node) ?? 0) + count);
        for (let at = 0; at < count; at++) snapshot.add(pod, node);
      }
    }
    if (left === 0) continue;
    pending.push(...alike.slice(alike.length - left));
    // As the scheduler, for one pod.
    reasons ??= whyPending(pod, to, snapshot);
  }
  return { nodes, returns, returnSeconds, pending, waiting, reasons: reasons ?? new FitReasons() };
}

function ordinal({ name }: RunningPod): number {
  return Number(name.slice(name.lastIndexOf('-') + 1)) || 0;
}

function whyPending(pod: PodTraits, { nodes, returns, refused }: OpenTo, snapshot: Snapshot): FitReasons {
  const judge = new Judge(pod, snapshot);
  if (judge.refusal === undefined && nodes.length + returns.length === 0) return refused;
  const reasons = new FitReasons();
  // A refusal of the pod itself comes before the rules of nodes.
  if (judge.refusal === undefined) reasons.addAll(refused);
  const asked = judge.refusal === undefined ? [...nodes, ...returns] : snapshot.nodes.keys();
  for (const node of asked) reasons.add(judge.firstWhyNot(node));
  return reasons;
}
