/** Pools in detail: spec, members, RuntimeClass, events. Leaves out and names what this user may not read. */
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { EventsPort, PoolEventRecord } from '../../../kube/resources/events.ts';
import type { NodepoolError, Warning } from '../../../nodepool/errors.ts';
import { type DuePlan, dueOf } from '../../../nodepool/plan/plan.ts';
import { type RecordedMember, runtimeClassName } from '../../../nodepool/plan/runtime-class.ts';
import type { LiveState } from '../../../nodepool/status/state-word.ts';
import type { Node, NodePool, RuntimeClass } from '../../../nodepool/types.ts';
import type { NodeMembership } from '../../../print/cells.ts';
import { type Blocked, blockedOf } from '../../../reconciler/plan/blocked.ts';
import { liveState } from '../../../reconciler/plan/live-state.ts';
import { nodePlan } from '../../../reconciler/plan/node-plan.ts';
import { recordedMembers } from '../../../reconciler/plan/rollout-plan.ts';
import { emptyPoolWarnings } from '../consent/no-match.ts';
import { loadClusterState } from '../pools/load-cluster-state.ts';
import { nodeIn } from '../pools/node-names.ts';
import { poolsNotFound } from '../pools/not-found.ts';
import { type Permitted, permitted } from '../refusals.ts';
import { oldestFirst } from './print-timeline.ts';

export interface DescribedNode {
  node: Node;
  /** What the next reconcile would change on the node. */
  changes: DuePlan['changes'];
  /** Changes that wait until pods are evicted, if any. */
  drain?: DuePlan['drain'] | undefined;
  /** Why no run changes the node. */
  blocked?: Blocked | undefined;
  membership: NodeMembership;
}

export interface PoolFacts {
  pool: NodePool;
  live: LiveState;
  nodes: DescribedNode[];
  runtimeClass: Permitted<RuntimeClass | undefined>;
  /** What each member has from the pool: its record and its taints. */
  reached: readonly RecordedMember[];
  events: Permitted<PoolEventRecord[]>;
}

/** @param names empty: all. Names that do not exist become errors, so that the others are still shown. */
export async function describe(
  names: string[],
  deps: { cluster: ClusterPort; events: EventsPort },
): Promise<{ descriptions: PoolFacts[]; warnings: Warning[]; missing: NodepoolError[] }> {
  const [only] = names.length === 1 ? names : [];
  const reading = permitted(deps.cluster.runtimeClasses.list());
  const known = reading.then(classes => ('value' in classes ? classes.value : []));
  const [state, runtimeClasses, events] = await Promise.all([
    loadClusterState(deps.cluster, known),
    reading,
    permitted(deps.events.list(only)),
  ]);
  // Deleted pools that left records on nodes are not described.
  const existing = [...state.pools()].map(({ metadata }) => metadata.name).sort();
  const chosen = names.length === 0 ? existing : [...new Set(names)];
  const missing = chosen.filter(name => state.pool(name) === undefined);
  const now = deps.cluster.nodes.serverTime();
  const descriptions = chosen.flatMap(name => {
    const pool = state.pool(name);
    if (pool === undefined) return [];
    const members = new Set(state.members(name));
    const owned = state.managedNodes(name).map((node): DescribedNode => {
      const plan = nodePlan(state, node.name);
      const { changes = [], drain } = dueOf(plan) ?? {};
      const blocked = blockedOf(state, plan);
      return { node, changes, drain, blocked, membership: { kind: members.has(node) ? 'member' : 'leaving' } };
    });
    const lost = state.lost(name).map(({ node, owner }): DescribedNode => {
      return { node, changes: [], membership: { kind: 'conflict', owner: owner.metadata.name } };
    });
    return [
      {
        pool,
        live: liveState(state, pool, now),
        nodes: [...owned, ...lost].toSorted((a, b) => (a.node.name < b.node.name ? -1 : 1)),
        runtimeClass:
          'forbidden' in runtimeClasses ? runtimeClasses : { value: state.runtimeClass(runtimeClassName(name)) },
        reached: recordedMembers(pool, state),
        events: 'forbidden' in events ? events : { value: eventsOf(pool, events.value) },
      },
    ];
  });
  return {
    descriptions,
    warnings: emptyPoolWarnings(
      state,
      descriptions.map(({ pool }) => pool.metadata.name),
    ),
    missing: poolsNotFound('describe', missing, { pools: existing, node: nodeIn(state) }),
  };
}

/** Newest last, as in kubectl describe. Leaves out Events of an earlier pool of the same name. */
function eventsOf(pool: NodePool, events: PoolEventRecord[]): PoolEventRecord[] {
  return events
    .filter(event => event.pool === pool.metadata.name)
    .filter(event => event.poolUid === undefined || event.poolUid === '' || event.poolUid === pool.metadata.uid)
    .toSorted(oldestFirst);
}
