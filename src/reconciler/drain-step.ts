/** One step of a drain: whether the taints that wait on a node can be set now. */
import type { NodePlan } from '../nodepool/plan.ts';
import type { Node } from '../nodepool/types.ts';
import type { ClusterState } from './cluster-state.ts';
import { readNode } from './live-reads.ts';
import type { DrainingPlan, NodeDrainer } from './node-drainer.ts';
import { planOf } from './node-plan.ts';
import type { ClusterPort } from './ports.ts';
import { looksSame } from './versions.ts';

interface DrainStepDeps {
  cluster: ClusterPort;
  state: ClusterState;
  dryRun: boolean;
  isFollowed?: boolean;
}

/**
 * The plan with the taints, once no pod is left that they would evict. `again`: the node has changed, so it is planned again.
 * `waits`: pods are left, or the turn of the node in a rollout has not come. A dry run evicts nothing.
 */
export async function drainStep(
  plan: DrainingPlan,
  drainer: NodeDrainer,
  admits: (pool: string) => boolean,
  { cluster, state, dryRun, isFollowed = false }: DrainStepDeps,
): Promise<NodePlan | 'again' | 'waits'> {
  const { node, previous, isRollout = false } = plan;
  const cleared = () => planOf(state, node.name, true) ?? 'again';
  if (dryRun) return cleared();
  if (isRollout && previous !== undefined && !admits(previous)) return 'waits';
  if (!drainer.isDue(plan)) return 'waits';
  if (!isFollowed) {
    // A drain takes long, and without caches nothing else tells that the node was changed.
    await readNode(node.name, node.uid, { cluster, state });
    if (!isAsPlanned(node, state)) return 'again';
  }
  if (!(await drainer.look(plan))) return 'waits';
  // Without its twin, pods may have come since they were listed.
  return isAsPlanned(node, state) ? cleared() : 'again';
}

function isAsPlanned(node: Node, state: ClusterState): boolean {
  const current = state.node(node.name);
  return current !== undefined && looksSame(node, current);
}
