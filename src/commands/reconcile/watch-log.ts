/** What `reconcile --watch` logs about pools without nodes, and before it sets NoExecute taints. */
import type { NowClock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import { warningText } from '../../nodepool/errors.ts';
import type { WritePlan } from '../../nodepool/plan/plan.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { arrivingNoExecute } from '../../nodepool/spec/taints.ts';
import type { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { emptyPoolWarnings } from '../shared/consent/no-match.ts';

/** Logs pools that no node matches, once per spec: an autoscaler may remove all nodes every night. */
export function noMatchLog(state: ClusterState, log: Log): (pool: string) => void {
  /** Generations, by pool. */
  const said = new Map<string, number | undefined>();
  return name => {
    const pool = state.pool(name);
    if (pool === undefined) {
      said.delete(name);
      return;
    }
    const { generation } = pool.metadata;
    if (said.has(name) && said.get(name) === generation) return;
    for (const warning of emptyPoolWarnings(state, [name])) {
      // No warning: a pool may exist before its nodes.
      log('info', warningText(warning), { pool: name });
      said.set(name, generation);
    }
  };
}

/** If a pool sets one taint on many nodes, only the first is logged within this time. */
const SILENT_MS = 60_000;

const WITHIN = 'PodDisruptionBudgets are respected';
const REGARDLESS = 'pods that do not tolerate it are evicted; taints ignore PodDisruptionBudgets';

/** Logs NoExecute taints before they are set: `reconcile --watch` does not ask. */
export function noExecuteLog(log: Log, clock: NowClock): (plan: WritePlan) => void {
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
      if (isCleared) say('info', pool, `setting taint ${taint} on nodes; it evicts no pods`, node.name);
      else say('warning', pool, `setting taint ${taint} on nodes`, `${node.name}: ${REGARDLESS}`);
    }
  };
}
