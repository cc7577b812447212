/** One step of a drain: whether the taints that wait on a node can be set now. */
import type { Clock } from '../../controller/clock.ts';
import type { ClusterPort } from '../../kube/cluster.ts';
import { deepEqual } from '../../nodepool/merge-patch.ts';
import { type DrainPlan, inTurn, type NodePlan } from '../../nodepool/plan/plan.ts';
import type { Node } from '../../nodepool/types.ts';
import type { RolloutTurn } from '../limits/rollout-gates.ts';
import { planOf } from '../plan/node-plan.ts';
import { type ChangedMeanwhile, MAX_AGE_MS } from '../state/changed-meanwhile.ts';
import { type ClusterState, looksSame } from '../state/cluster-state.ts';
import { readNode } from '../state/live-reads.ts';
import type { GoesOn, NodeDrainer } from './node-drainer.ts';

interface DrainStepDeps {
  cluster: ClusterPort;
  state: ClusterState;
  clock: Pick<Clock, 'now'>;
  hasCaches?: boolean;
}

interface DrainGates {
  drainer: NodeDrainer;
  /** Of the node in the rollout; undefined where it needs none. */
  turn: RolloutTurn | undefined;
  changed: ChangedMeanwhile;
}

/**
 * The plan with the taints, once no pod is left that they would evict. `again`: the node or its pool has changed, so it is
 * planned again. `waits`: pods are left, or the turn of the node in a rollout has not come. A dry run evicts nothing.
 */
export async function drainStep(
  plan: DrainPlan,
  { drainer, turn, changed }: DrainGates,
  deps: DrainStepDeps,
): Promise<NodePlan | 'again' | 'waits'> {
  const { node, previous } = plan;
  const { state, cluster } = deps;
  const cleared = () => planOf(state, node.name, true) ?? 'again';
  if (cluster.isDryRun) return cleared();
  const isTurn = turn !== undefined && previous !== undefined ? turnOf(previous, turn, state) : () => true;
  if (!isTurn()) return 'waits';
  const look = await drainer.look(plan, stillDecided(plan, { isTurn, changed }, deps));
  if (look !== 'cleared') return look;
  // Without its twin, pods may have come since they were listed.
  return isAsPlanned(node, state) ? cleared() : 'again';
}

/** Whether the node has its turn. If nodes of the pool have turned Ready or NotReady since the last call, it is asked for again. */
function turnOf(pool: string, turn: RolloutTurn, state: ClusterState): () => boolean {
  let readiness = state.readiness(pool);
  return () => {
    if (state.readiness(pool) !== readiness) turn.giveBack();
    readiness = state.readiness(pool);
    return turn.admits(pool) !== undefined;
  };
}

/** By what is known when it is called; in a run without caches that is not older than MAX_AGE_MS. */
function stillDecided(
  plan: DrainPlan,
  { isTurn, changed }: { isTurn: () => boolean; changed: ChangedMeanwhile },
  deps: DrainStepDeps,
): GoesOn {
  const { state, clock, hasCaches = false } = deps;
  const { name, uid } = plan.node;
  let readAt = -Infinity;
  return async () => {
    if (!hasCaches && clock.now() - readAt >= MAX_AGE_MS) {
      // A drain takes long, and without caches nothing else tells that the node was changed.
      await readNode(name, uid, deps);
      readAt = clock.now();
    }
    const isSame = await changed.isSame(plan);
    if (!isStillPlanned(plan, state)) return 'again';
    return isSame && isTurn() ? 'goes on' : 'waits';
  };
}

/** Whether a plan that is made now has the same drain, and nothing to write before it. */
function isStillPlanned({ node, owner, drain }: DrainPlan, state: ClusterState): boolean {
  const now = state.node(node.name)?.uid === node.uid ? planOf(state, node.name) : undefined;
  const due = now && inTurn(now);
  return due?.kind === 'drain' && due.owner === owner && deepEqual(due.drain.taints, drain.taints);
}

function isAsPlanned(node: Node, state: ClusterState): boolean {
  const current = state.node(node.name);
  return current !== undefined && looksSame(node, current);
}
