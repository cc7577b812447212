/** Logs that taints with the effect NoExecute are about to be set: `reconcile --watch` does not ask. */
import type { Clock } from '../controller/clock.ts';
import type { Log } from '../controller/log.ts';
import type { NodePlan } from '../nodepool/plan.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import { arrivingNoExecute } from '../nodepool/toleration.ts';

/** Of a pool that sets one taint on many nodes, the first is logged. */
const SILENT_MS = 60_000;

export function noExecuteLog(log: Log, clock: Pick<Clock, 'now'>): (plan: NodePlan) => void {
  const loggedAt = new Map<string, number>();
  return ({ node, owner, previous, patch }) => {
    const pool = owner ?? previous ?? '';
    for (const taint of arrivingNoExecute(node.taints, patch?.taints ?? []).map(formatTaint)) {
      const [key, now] = [`${pool} ${taint}`, clock.now()];
      if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < SILENT_MS) continue;
      loggedAt.set(key, now);
      const effect = 'pods that do not tolerate it are evicted, and PodDisruptionBudgets are not respected';
      log('warning', `${pool}: setting taint ${taint} on nodes, first on ${node.name}: ${effect}`, { pool });
    }
  };
}
