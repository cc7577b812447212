/** The pods of a node and what the rules of a drain say of each. */
import { type DrainPod, type DrainRules, daemonSetOf, judgePod, podName } from '../nodepool/drain-filters.ts';
import type { DrainPort } from './drain-port.ts';

export interface DrainScope {
  rules: DrainRules;
  /** Only pods with these labels, as the server takes it. */
  podSelector: string | undefined;
}

/** What is said of single pods, to be grouped by what is said. */
export type PodFate = { what: string; pod: string };

export interface JudgedPods {
  /** Those that have to go. */
  evict: DrainPod[];
  warnings: PodFate[];
  /** With one of these, nothing of the node may go. */
  refusals: PodFate[];
}

export interface PodReader {
  /** Lists the pods of a node. */
  read(node: string): Promise<JudgedPods>;
  judge(pods: readonly DrainPod[]): Promise<JudgedPods>;
}

/** Asks for each DaemonSet once: the nodes of a pool have the same. */
export function podReader({ rules, podSelector }: DrainScope, port: DrainPort, now: () => Date): PodReader {
  const asked = new Map<string, Promise<boolean>>();
  const hasDaemonSet = (pod: DrainPod): Promise<boolean> => {
    const name = daemonSetOf(pod);
    if (name === undefined) return Promise.resolve(false);
    const key = podName({ namespace: pod.namespace, name });
    const known = asked.get(key);
    if (known !== undefined) return known;
    const answer = port.hasDaemonSet(pod.namespace, name);
    asked.set(key, answer);
    // A failure is no answer: the next node asks again.
    answer.catch(() => asked.delete(key));
    return answer;
  };
  const judge = async (pods: readonly DrainPod[]): Promise<JudgedPods> => {
    const judged: JudgedPods = { evict: [], warnings: [], refusals: [] };
    for (const pod of pods) {
      const verdict = judgePod(pod, rules, { now: now(), hasDaemonSet: await hasDaemonSet(pod) });
      const name = podName(pod);
      switch (verdict.kind) {
        case 'evict':
          judged.evict.push(pod);
          judged.warnings.push(...verdict.warnings.map(what => ({ what, pod: name })));
          break;
        case 'keep':
          judged.warnings.push({ what: verdict.warning, pod: name });
          break;
        case 'refuse':
          judged.refusals.push(...verdict.reasons.map(what => ({ what: `cannot delete ${what}`, pod: name })));
          break;
        case 'pass':
          break;
      }
    }
    return judged;
  };
  return { judge, read: async node => judge(await port.podsOn(node, podSelector)) };
}
