/**
 * Which pods a drain takes off a node, which it leaves, and which it will not touch without a flag that says so. The
 * rules are those of kubectl drain (k8s.io/kubectl/pkg/drain, filters.go); of a pod that breaks several, all are told.
 */
import { firstFew } from './plural.ts';

/** What is kept of a pod. */
export interface DrainPod {
  namespace: string;
  name: string;
  uid: string;
  /** As status.phase. */
  phase: string;
  /** RFC 3339; set once its deletion has begun. */
  deletionTimestamp?: string;
  /** The owner that manages it, if there is one. */
  controller?: { apiVersion: string; kind: string; name: string };
  /** Stands for a static pod, which its kubelet runs without the API server. */
  isMirror: boolean;
  hasEmptyDir: boolean;
}

/** The flags of kubectl drain that decide on pods. */
export interface DrainRules {
  force: boolean;
  ignoreDaemonSets: boolean;
  deleteEmptyDirData: boolean;
  /** Seconds since the deletion timestamp after which a pod is not waited for any more; 0: never. */
  skipWaitForDeleteSeconds: number;
}

export type Verdict =
  /** @param warnings what goes wrong with it, that a flag allowed */
  | { kind: 'evict'; warnings: string[] }
  /** It stays, and people should know. */
  | { kind: 'keep'; warning: string }
  /** It stays, as it must. */
  | { kind: 'pass' }
  /** @param reasons in words that follow "cannot delete" */
  | { kind: 'refuse'; reasons: string[] };

/** @param hasDaemonSet whether the DaemonSet that daemonSetOf() gives still exists */
export function judgePod(pod: DrainPod, rules: DrainRules, { now, hasDaemonSet }: Surroundings): Verdict {
  if (isStuck(pod, rules.skipWaitForDeleteSeconds, now)) return { kind: 'pass' };
  const { force, ignoreDaemonSets, deleteEmptyDirData } = rules;
  const [warnings, reasons]: [string[], string[]] = [[], []];
  const allow = (allowed: boolean, what: string, flag: string) => {
    if (allowed) warnings.push(`deleting ${what}`);
    else reasons.push(`${what} (use ${flag} to override)`);
  };
  if (daemonSetOf(pod) !== undefined) {
    if (hasDaemonSet && ignoreDaemonSets) return { kind: 'keep', warning: 'ignoring DaemonSet-managed pods' };
    if (hasDaemonSet)
      return { kind: 'refuse', reasons: ['DaemonSet-managed pods (use --ignore-daemonsets to ignore)'] };
    allow(force, 'pods whose DaemonSet does not exist', '--force');
  }
  if (pod.isMirror) return { kind: 'pass' };
  if (!hasEnded(pod)) {
    if (pod.hasEmptyDir) allow(deleteEmptyDirData, 'pods with local storage', '--delete-emptydir-data');
    if (pod.controller === undefined) allow(force, 'pods that declare no controller', '--force');
  }
  return reasons.length > 0 ? { kind: 'refuse', reasons } : { kind: 'evict', warnings };
}

export interface Surroundings {
  now: Date;
  hasDaemonSet: boolean;
}

/** The DaemonSet that would at once replace the pod. What has ended is not replaced, and goes like any other pod. */
export function daemonSetOf(pod: DrainPod): string | undefined {
  const { controller } = pod;
  const isDaemonSets = controller?.kind === 'DaemonSet' && controller.apiVersion === 'apps/v1';
  return isDaemonSets && !hasEnded(pod) ? controller.name : undefined;
}

/** Whether its deletion began so long ago that nobody is to wait for it. */
export function isStuck({ deletionTimestamp }: DrainPod, afterSeconds: number, now: Date): boolean {
  if (afterSeconds <= 0 || deletionTimestamp === undefined) return false;
  return Math.floor((now.getTime() - Date.parse(deletionTimestamp)) / 1000) > afterSeconds;
}

function hasEnded({ phase }: DrainPod): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** As it is named in messages. */
export function podName({ namespace, name }: Pick<DrainPod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** Pods that are named in one line: thousands may share a fate. */
const MOST_NAMED = 10;

/** One line for each fate, with the pods that share it: `cannot delete pods with local storage (…): a/b, a/c`. */
export function groupByFate(fates: readonly { what: string; pod: string }[]): string[] {
  const pods = new Map<string, string[]>();
  for (const { what, pod } of fates) {
    const names = pods.get(what);
    if (names === undefined) pods.set(what, [pod]);
    else names.push(pod);
  }
  return [...pods].map(([what, names]) => `${what}: ${firstFew(names, MOST_NAMED)}`);
}
