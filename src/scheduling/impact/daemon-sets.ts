/** Which pods of DaemonSets stop and start, as the controller of DaemonSets decides. */
import type { Node } from '../../nodepool/types.ts';
import { type DaemonVerdict, shouldRunOn } from '../daemon.ts';
import { type ChangedKey, causesOf, type NodeChange } from './node-keys.ts';
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

export function isOfDaemonSet({ owner }: RunningPod): boolean {
  return owner?.kind === 'DaemonSet';
}

export function ownerKey({ pod, owner }: RunningPod): string {
  return `${pod.namespace}/${owner?.name ?? ''}`;
}
