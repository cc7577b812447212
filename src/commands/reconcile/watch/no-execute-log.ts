/** Logs that taints with the effect NoExecute are about to be set: `reconcile --watch` does not ask. */
import type { Clock } from '../../../controller/clock.ts';
import type { Log } from '../../../controller/log.ts';
import type { WritePlan } from '../../../nodepool/plan/plan.ts';
import { formatTaint } from '../../../nodepool/spec/syntax.ts';
import { arrivingNoExecute } from '../../../nodepool/spec/toleration.ts';

/** Of a pool that sets one taint on many nodes, the first is logged. */
const SILENT_MS = 60_000;

const WITHIN = 'PodDisruptionBudgets are respected';
const REGARDLESS = 'pods that do not tolerate it are evicted, and PodDisruptionBudgets are not respected';

export function noExecuteLog(log: Log, clock: Pick<Clock, 'now'>): (plan: WritePlan) => void {
  const loggedAt = new Map<string, number>();
  const say = (level: 'info' | 'warning', pool: string, what: string, more: string) => {
    const [key, now] = [`${pool} ${what}`, clock.now()];
    if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < SILENT_MS) return;
    loggedAt.set(key, now);
    log(level, `${pool}: ${what}, first on ${more}`, { pool });
  };
  return ({ node, owner, previous, patch, drain, isCleared = false }) => {
    const pool = owner ?? previous ?? '';
    for (const taint of (drain?.hasBegun ? [] : (drain?.taints ?? [])).map(formatTaint)) {
      say('info', pool, `evicting pods from nodes before they get taint ${taint}`, `${node.name}: ${WITHIN}`);
    }
    for (const taint of arrivingNoExecute(node.taints, patch.taints ?? []).map(formatTaint)) {
      if (isCleared) say('info', pool, `setting taint ${taint} on nodes without pods that it evicts`, node.name);
      else say('warning', pool, `setting taint ${taint} on nodes`, `${node.name}: ${REGARDLESS}`);
    }
  };
}
