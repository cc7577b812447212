/** STATUS, DUE and DRIFT of a pool, computed from the current nodes. */
import { allChanges, dueOf, isSpecApplied } from '../../nodepool/plan/plan.ts';
import { stuckStartupTaints } from '../../nodepool/plan/startup-taints.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { LiveState } from '../../nodepool/status/state-word.ts';
import { isStale } from '../../nodepool/status/status.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { differs, nodePlan } from './node-plan.ts';
import { rolloutStepOf } from './rollout-plan.ts';

/** @param now the server's time, for rollouts and startup taints */
export function liveState(state: ClusterState, pool: NodePool, now: Date): LiveState {
  const { name } = pool.metadata;
  const members = state.members(name);
  const isInvalid = state.poolIndex.errors(name).length > 0;
  let [ready, due, drifted] = [0, 0, 0];
  for (const node of members) {
    if (node.ready) ready++;
    const record = state.ownership(node.name)?.record;
    // Nearly all nodes: a plan of each takes most of the time of `get`.
    if (record !== undefined && isSpecApplied(node, record, pool)) continue;
    const plan = nodePlan(state, node.name);
    if (plan === undefined || !differs(plan)) continue;
    due++;
    if (allChanges(dueOf(plan)).some(({ reason }) => reason === 'drift')) drifted++;
  }
  // Nodes that left keep the pool's labels and taints until they are removed. A node in another pool is due there.
  for (const { name: node } of state.managedNodes(name)) {
    const plan = state.ownership(node)?.owner === undefined ? nodePlan(state, node) : undefined;
    if (plan !== undefined && differs(plan)) due++;
  }
  return {
    ...{ nodes: members.length, ready, due, drifted, isInvalid },
    losesNodes: state.lost(name).length > 0,
    isStartupStuck: stuckStartupTaints(pool, members, () => now).texts.length > 0,
    rollout: isInvalid ? undefined : rolloutOf(state, pool, now),
  };
}

/** A spec that no reconcile has seen has not started a rollout. */
function rolloutOf(state: ClusterState, pool: NodePool, now: Date): LiveState['rollout'] {
  if (pool.spec.rollout === undefined || isPaused(pool) || isStale(pool)) return undefined;
  const { isStopped, pending, settling } = rolloutStepOf(state, pool, now);
  if (isStopped) return 'Stopped';
  return pending + settling > 0 ? 'Progressing' : undefined;
}
