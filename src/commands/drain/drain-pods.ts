import {
  type DrainPod,
  daemonSetOf,
  judgePod,
  podName,
  type RefusalReason,
} from '../../nodepool/drain/drain-filters.ts';
import { selectorError } from '../shared/pools/not-found.ts';
import type { DrainOptions } from './options.ts';

/** The wording of kubectl drain. */
const REASONS: Readonly<Record<RefusalReason, { pods: string; remedy: string }>> = {
  daemonSet: { pods: 'DaemonSet-managed pods', remedy: 'use --ignore-daemonsets to ignore' },
  orphan: { pods: 'pods whose DaemonSet does not exist', remedy: 'use --force to override' },
  localStorage: { pods: 'pods with local storage', remedy: 'use --delete-emptydir-data to override' },
  noController: { pods: 'pods that declare no controller', remedy: 'use --force to override' },
};

/** A warning or refusal about one pod; pods with the same text are grouped. */
export type PodOutcome = { what: string; pod: string };

/** @param evicts the UID of the pod, if it is evicted nevertheless, which loses something */
export type PodWarning = PodOutcome & { evicts?: string };

export interface JudgedPods {
  evict: DrainPod[];
  warnings: PodWarning[];
  /** If there are any refusals, no pod of the node is evicted. */
  refusals: PodOutcome[];
  /** Pods with refusals that a flag can override. */
  refused: DrainPod[];
  /** Pods that are terminating for too long to wait for. */
  terminating: DrainPod[];
}

export interface PodReader {
  read(node: string): Promise<JudgedPods>;
}

/** Reads each DaemonSet once: the nodes of a pool run the same ones. */
export function podReader({ rules, podSelector, evictions, now }: DrainOptions): PodReader {
  const reads = new Map<string, Promise<boolean>>();
  const hasDaemonSet = (pod: DrainPod): Promise<boolean> => {
    const name = daemonSetOf(pod);
    if (name === undefined) return Promise.resolve(false);
    const key = podName({ namespace: pod.namespace, name });
    const known = reads.get(key);
    if (known !== undefined) return known;
    const answer = evictions.hasDaemonSet(pod.namespace, name);
    reads.set(key, answer);
    // A failure is not cached: the next node reads again.
    answer.catch(() => reads.delete(key));
    return answer;
  };
  const judge = async (pods: readonly DrainPod[]): Promise<JudgedPods> => {
    const judged: JudgedPods = { evict: [], warnings: [], refusals: [], refused: [], terminating: [] };
    for (const pod of pods) {
      const verdict = judgePod(pod, rules, { now: now(), hasDaemonSet: await hasDaemonSet(pod) });
      const name = podName(pod);
      switch (verdict.kind) {
        case 'evict':
          judged.evict.push(pod);
          judged.warnings.push(
            ...verdict.warnings.map(why => ({ what: `deleting ${REASONS[why].pods}`, pod: name, evicts: pod.uid })),
          );
          break;
        case 'keep':
          judged.warnings.push({ what: `ignoring ${REASONS.daemonSet.pods}`, pod: name });
          break;
        case 'refuse':
          judged.refusals.push(...verdict.reasons.map(why => ({ what: refusal(why), pod: name })));
          if (!verdict.reasons.includes('daemonSet')) judged.refused.push(pod);
          break;
        case 'pass':
          if (!pod.isMirror) judged.terminating.push(pod);
          break;
      }
    }
    return judged;
  };
  const list = async (node: string): Promise<DrainPod[]> => {
    try {
      return await evictions.podsOn(node, podSelector);
    } catch (error) {
      throw podSelector === undefined ? error : selectorError(error, '--pod-selector', podSelector);
    }
  };
  return { read: async node => judge(await list(node)) };
}

function refusal(reason: RefusalReason): string {
  const { pods, remedy } = REASONS[reason];
  return `cannot delete ${pods} (${remedy})`;
}
