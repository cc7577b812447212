/** Which pods of DaemonSets stop and start, as the controller of DaemonSets decides. */
import { quantityReader } from '../../nodepool/amounts.ts';
import type { Node } from '../../nodepool/types.ts';
import { type DaemonVerdict, shouldRunOn } from '../daemon.ts';
import { judgePorts } from '../host-ports.ts';
import { readPlacedPod } from '../read-pod.ts';
import { judgeResources } from '../resources.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Pod } from '../types.ts';
import { type ChangedKey, causesOf, type NodeChange } from './node-keys.ts';
import type { DaemonNode } from './summary.ts';
import type { DaemonSet, RunningPod } from './types.ts';

export interface DaemonChange {
  set: DaemonSet;
  node: string;
  /** `stays`: its pod goes on running, and would not be created again. */
  kind: 'starts' | 'stops' | 'stays';
  causes: readonly ChangedKey[];
}

/** @param pods on the node */
export function daemonChanges(
  change: NodeChange,
  keys: readonly ChangedKey[],
  sets: readonly DaemonSet[],
  pods: readonly RunningPod[],
): DaemonChange[] {
  const running = new Set(pods.flatMap(pod => (isOfDaemonSet(pod) ? ownerKey(pod) : [])));
  return sets.flatMap((set): DaemonChange[] => {
    const verdict = (node: Node) => shouldRunOn(set.template, node);
    const kind = kindOf(running.has(`${set.namespace}/${set.name}`), verdict(change.before), verdict(change.after));
    if (kind === undefined) return [];
    const asked = (node: Node) => (kind === 'stops' ? verdict(node).shouldContinue : verdict(node).shouldRun);
    return [{ set, node: change.after.name, kind, causes: causesOf(asked, change, keys) }];
  });
}

function kindOf(hasPod: boolean, before: DaemonVerdict, after: DaemonVerdict): DaemonChange['kind'] | undefined {
  // A pod that was to stop, or to start, before the change does so without it.
  if (!hasPod) return !before.shouldRun && after.shouldRun ? 'starts' : undefined;
  if (!before.shouldContinue) return undefined;
  if (!after.shouldContinue) return 'stops';
  return before.shouldRun && !after.shouldRun ? 'stays' : undefined;
}

export interface StartingPod {
  set: DaemonSet;
  found: DaemonNode;
}

/** Finds what nodes lack for pods that start, of resources and host ports. @param snapshot without pods that leave; those that fit are added */
export function judgeRoom(starting: readonly StartingPod[], snapshot: Snapshot): void {
  const read = quantityReader();
  const pods = new Map<DaemonSet, Pod>();
  for (const { set, found } of starting) {
    const { namespace, name, template } = set;
    const state = snapshot.nodes.get(found.node);
    // The server has refused an amount that cannot be read.
    const pod = pods.get(set) ?? readPlacedPod({ metadata: { namespace, name }, spec: template }, read, () => {});
    pods.set(set, pod);
    if (state === undefined) continue;
    const clash = judgePorts(pod.hostPorts, state.hostPorts);
    found.lacks = [...judgeResources(pod.requests, state), ...(clash === undefined ? [] : [clash])];
    if (found.lacks.length === 0) snapshot.add(pod, found.node);
  }
}

export function isOfDaemonSet({ owner }: RunningPod): boolean {
  return owner?.kind === 'DaemonSet';
}

export function ownerKey({ pod, owner }: RunningPod): string {
  return `${pod.namespace}/${owner?.name ?? ''}`;
}
