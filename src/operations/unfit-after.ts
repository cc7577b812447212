/** Pods that could not be scheduled on their node again, after its labels and taints change. They run on. */
import { podName } from '../nodepool/drain-filters.ts';
import { firstFew, plural } from '../nodepool/plural.ts';
import type { Node } from '../nodepool/types.ts';
import { FitReasons, reasonsText } from '../scheduling/fit-reasons.ts';
import { Judge } from '../scheduling/judge.ts';
import type { Reason } from '../scheduling/reason.ts';
import type { Snapshot } from '../scheduling/snapshot.ts';
import { type KeptPod, readSnapshot } from './read-snapshot.ts';
import type { SchedulingPort } from './scheduling-port.ts';

/** Pods named in a line. */
const SHOWN_PODS = 3;

/**
 * A line for each reason; empty: none. Reads every pod. Throws NodepoolError.
 * @param nodes all, as they are
 * @param changed those that change, as they will be
 */
export async function unfitAfter(
  nodes: readonly Node[],
  changed: readonly Node[],
  port: SchedulingPort,
): Promise<string[]> {
  if (changed.length === 0) return [];
  const names = new Set(changed.map(({ name }) => name));
  const keep = ({ nodeName = '' }: { nodeName: string | undefined }) => names.has(nodeName);
  const reading = Promise.resolve([...nodes]);
  const { snapshot, kept } = await readSnapshot(reading, { pods: [], keep, judgesKept: true }, port);
  // What keeps a pod away already is not the change's doing.
  const before = new Map(kept.map(each => [each, reasonsOf(each, snapshot).length > 0]));
  for (const node of changed) {
    const state = snapshot.nodes.get(node.name);
    if (state !== undefined) state.node = node;
  }
  const byRule = new Map<string, { reasons: FitReasons; pods: string[] }>();
  for (const each of kept) {
    const reasons = before.get(each) ? [] : reasonsOf(each, snapshot);
    const [first] = reasons;
    if (first === undefined) continue;
    const group = byRule.get(first.rule) ?? { reasons: new FitReasons(), pods: [] };
    byRule.set(first.rule, group);
    group.reasons.add(reasons);
    group.pods.push(podName(each.pod));
  }
  return [...byRule.values()].map(({ reasons, pods }) => {
    const why = reasonsText(reasons.list().map(reason => ({ ...reason, nodes: undefined })));
    return `${plural(pods.length, 'running pod')} could not be scheduled there again: ${why}: ${firstFew(pods, SHOWN_PODS)}`;
  });
}

/** As if it were created anew for its node. */
function reasonsOf({ pod, node }: KeptPod, snapshot: Snapshot): Reason[] {
  snapshot.remove(pod, node);
  const reasons = new Judge({ ...pod, nodeName: undefined }, snapshot).firstWhyNot(node);
  snapshot.add(pod, node);
  return reasons;
}
