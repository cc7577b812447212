/** Why a node, or every node, does not take a pod. */

/** In the order in which kube-scheduler asks its rules; `gates` and `claims` are asked before any node is looked at. */
export type Rule =
  | 'gates'
  | 'claims'
  | 'unschedulable'
  | 'nodeName'
  | 'taints'
  | 'nodeAffinity'
  | 'hostPorts'
  | 'resources'
  | 'disks'
  | 'claimInUse'
  | 'volumes'
  | 'volumeZone'
  | 'spread'
  | 'podAffinity'
  | 'podAntiAffinity'
  | 'existingAntiAffinity';

export interface Reason {
  rule: Rule;
  /** As kube-scheduler 1.36 prints it. */
  words: string;
  /** What in particular: the taint, what is free and asked for, the label that is missing. */
  detail?: string;
  /** Of a resource that is short. */
  short?: { resource: string; asked: bigint; free: bigint };
}

/** How many nodes each of the scheduler's reasons holds for: of each node, those of the first rule that fails. */
export type ReasonCounts = ReadonlyMap<string, number>;

export function countReasons(counts: Map<string, number>, reasons: readonly Reason[]): void {
  for (const { words } of firstRule(reasons)) counts.set(words, (counts.get(words) ?? 0) + 1);
}

/** The scheduler asks no rule after one that failed. */
export function firstRule(reasons: readonly Reason[]): Reason[] {
  return reasons.filter(({ rule }) => rule === reasons[0]?.rule);
}

/** `3 Insufficient cpu, 2 node(s) had untolerated taint(s)`, in the scheduler's order: as texts. */
export function reasonTexts(counts: ReasonCounts): string[] {
  return [...counts].map(([words, count]) => `${count} ${words}`).sort();
}
