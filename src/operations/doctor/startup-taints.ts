/** Startup taints that nobody lifts: those that a node registered with, too. */
import { stuckStartupTaints } from '../../nodepool/startup-taints.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { type Finding, ok, warning } from './check.ts';

export function checkStartupTaints(pools: readonly NodePool[], state: ClusterState, now: Date): Finding {
  const details = pools.flatMap(pool => {
    const { name } = pool.metadata;
    return stuckStartupTaints(pool, state.members(name), () => now).texts.map(text => `${name}: ${text}`);
  });
  if (details.length === 0) return ok('no node has had a startup taint for 15 minutes');
  return warning(
    'startup taints have been on nodes for more than 15 minutes',
    'check the agent that removes the taint, or that sets the condition of `until`; `kubectl taint` removes the taint',
    details,
  );
}
