/**
 * Decides for each pod whether a drain evicts it, leaves it, or refuses. The rules are those of kubectl
 * drain (k8s.io/kubectl/pkg/drain, filters.go). All broken rules of a pod are reported.
 */

import { firstFew } from '../text.ts';
import type { PodPlacement } from './placement.ts';

/** The fields of a pod that are kept. */
export interface DrainPod {
  namespace: string;
  name: string;
  uid: string;
  /** status.phase. */
  phase: string;
  /** RFC 3339. */
  creationTimestamp: string;
  /** RFC 3339; set once the pod is being deleted. */
  deletionTimestamp?: string;
  /** The controlling owner reference, if any. */
  controller?: { apiVersion: string; kind: string; name: string };
  /** A mirror pod: a static pod that its kubelet runs without the API server. */
  isMirror: boolean;
  hasEmptyDir: boolean;
  /** PersistentVolumeClaims of its volumes that outlive it; undefined if there are none. */
  claims?: string[];
  labels: Record<string, string>;
  isReady: boolean;
  placement: PodPlacement;
}

/** The flags of kubectl drain that select pods. */
export interface DrainRules {
  force: boolean;
  ignoreDaemonSets: boolean;
  deleteEmptyDirData: boolean;
  /** A pod whose deletion began more than this number of seconds ago is not waited for; 0: wait for all pods. */
  skipWaitForDeleteSeconds: number;
}

export type DrainVerdict =
  /** @param warnings refusal reasons that the rules allow */
  | { kind: 'evict'; warnings: RefusalReason[] }
  /** The pod of a DaemonSet stays, with a warning. */
  | { kind: 'keep' }
  /** The pod stays, without a warning. */
  | { kind: 'pass' }
  | { kind: 'refuse'; reasons: RefusalReason[] };

/** What the rules do not allow. `orphan`: the DaemonSet of the pod does not exist. */
export type RefusalReason = 'daemonSet' | 'orphan' | 'localStorage' | 'noController';

/** @param hasDaemonSet whether the DaemonSet that daemonSetOf() returns still exists */
export function judgePod(pod: DrainPod, rules: DrainRules, { now, hasDaemonSet }: PodContext): DrainVerdict {
  if (isStuck(pod, rules.skipWaitForDeleteSeconds, now)) return { kind: 'pass' };
  const { force, ignoreDaemonSets, deleteEmptyDirData } = rules;
  const [warnings, reasons]: [RefusalReason[], RefusalReason[]] = [[], []];
  const allow = (allowed: boolean, reason: RefusalReason) => (allowed ? warnings : reasons).push(reason);
  if (daemonSetOf(pod) !== undefined) {
    if (hasDaemonSet && ignoreDaemonSets) return { kind: 'keep' };
    if (hasDaemonSet) return { kind: 'refuse', reasons: ['daemonSet'] };
    allow(force, 'orphan');
  }
  if (pod.isMirror) return { kind: 'pass' };
  if (!hasEnded(pod)) {
    if (pod.hasEmptyDir) allow(deleteEmptyDirData, 'localStorage');
    if (pod.controller === undefined) allow(force, 'noController');
  }
  return reasons.length > 0 ? { kind: 'refuse', reasons } : { kind: 'evict', warnings };
}

export interface PodContext {
  now: Date;
  hasDaemonSet: boolean;
}

/** Whether a controller recreates the pod after its eviction. */
export function isRecreated({ controller, phase }: Pick<DrainPod, 'controller' | 'phase'>): boolean {
  return controller !== undefined && phase !== 'Succeeded' && phase !== 'Failed';
}

/** The DaemonSet that would immediately recreate the pod; undefined for a terminated pod, which is not recreated. */
export function daemonSetOf(pod: DrainPod): string | undefined {
  const { controller } = pod;
  const isDaemonSets = controller?.kind === 'DaemonSet' && controller.apiVersion === 'apps/v1';
  return isDaemonSets && !hasEnded(pod) ? controller.name : undefined;
}

/** Whether the pod may have come back after an eviction. */
export function canReturn(pod: DrainPod): boolean {
  return !pod.isMirror && !hasEnded(pod) && daemonSetOf(pod) === undefined && pod.deletionTimestamp === undefined;
}

/** Whether the deletion began too long ago to wait for the pod. */
export function isStuck({ deletionTimestamp }: DrainPod, afterSeconds: number, now: Date): boolean {
  if (afterSeconds <= 0 || deletionTimestamp === undefined) return false;
  return Math.floor((now.getTime() - Date.parse(deletionTimestamp)) / 1000) > afterSeconds;
}

export function hasEnded({ phase }: DrainPod): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

export function podName({ namespace, name }: Pick<DrainPod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** Maximum number of pods named in one line. */
const MAX_NAMED = 10;

/** `cannot delete pods with local storage (…): a/b, a/c`. @param line for an outcome that contains a colon */
export function groupByOutcome(
  outcomes: readonly { what: string; pod: string }[],
  line = (what: string, pods: string) => `${what}: ${pods}`,
): string[] {
  const pods = new Map<string, string[]>();
  for (const { what, pod } of outcomes) {
    const names = pods.get(what);
    if (names === undefined) pods.set(what, [pod]);
    else names.push(pod);
  }
  return [...pods].map(([what, names]) => line(what, firstFew(names, MAX_NAMED)));
}
