/** Like the DaemonSet controller: NodeShouldRunDaemonPod of k8s.io/kubernetes pkg/controller/daemon. No resources. */
import { isMatching, untoleratedTaints } from '../../nodepool/drain/placement.ts';
import { tolerates } from '../../nodepool/spec/taints.ts';
import type { Node, Toleration } from '../../nodepool/types.ts';
import { firstNodeRefusal, judgeName } from '../node/node-rules.ts';
import type { UnfitReason } from '../types.ts';
import type { RawPodSpec } from './raw-pod.ts';
import { placementOf } from './read-pod.ts';

export interface DaemonVerdict {
  /** Create a pod if there is none. */
  shouldRun: boolean;
  /** Keep an existing pod. */
  shouldContinue: boolean;
}

/** @param template spec.template.spec of the DaemonSet */
export function shouldRunOn(template: RawPodSpec, node: Node): DaemonVerdict {
  const { nodeName = '' } = template;
  const placement = placementOf(template);
  const isNamed = nodeName === '' || nodeName === node.name;
  if (!isNamed || !isMatching(placement, node)) return { shouldRun: false, shouldContinue: false };
  const tolerations = daemonTolerations(placement.tolerations, template.hostNetwork ?? false);
  if (untoleratedTaints(node, tolerations) === undefined) return { shouldRun: true, shouldContinue: true };
  const isEvicted = node.taints.some(
    taint => taint.effect === 'NoExecute' && !tolerations.some(toleration => tolerates(toleration, taint)),
  );
  return { shouldRun: false, shouldContinue: !isEvicted };
}

/** Why its controller creates no pod on the node; undefined: it does. @param template as in shouldRunOn() */
export function whyNoDaemon(template: RawPodSpec, node: Node): UnfitReason | undefined {
  const { nodeName } = template;
  const placement = placementOf(template);
  const tolerations = daemonTolerations(placement.tolerations, template.hostNetwork ?? false);
  return (
    judgeName(node, nodeName === '' ? undefined : nodeName) ??
    firstNodeRefusal(node, { ...placement, tolerations }, undefined)
  );
}

const ADDED: readonly [string, string][] = [
  ['not-ready', 'NoExecute'],
  ['unreachable', 'NoExecute'],
  ['disk-pressure', 'NoSchedule'],
  ['memory-pressure', 'NoSchedule'],
  ['pid-pressure', 'NoSchedule'],
  ['unschedulable', 'NoSchedule'],
];

/** Includes those that the controller adds to every pod (AddOrUpdateDaemonPodTolerations). */
export function daemonTolerations(tolerations: readonly Toleration[], hostNetwork: boolean): Toleration[] {
  const added = hostNetwork ? [...ADDED, ['network-unavailable', 'NoSchedule'] as const] : ADDED;
  return [
    ...tolerations,
    ...added.map(([name, effect]) => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect })),
  ];
}
