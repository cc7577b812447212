/** Pools in detail: spec, members with their state, RuntimeClass, events. What this user may not read is left out and named. */

import type { NodePlan } from '../nodepool/plan.ts';
import { runtimeClassName } from '../nodepool/runtime-class.ts';
import type { Node, NodePool, RuntimeClass } from '../nodepool/types.ts';
import { planOf } from '../reconciler/node-plan.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { oldestFirst } from './event-order.ts';
import { loadClusterState, selectPools } from './load-cluster-state.ts';
import { poolNotFound } from './not-found.ts';
import { type Permitted, permitted } from './permitted.ts';
import type { EventsPort, PoolEventRecord } from './ports.ts';

export interface DescribedNode {
  node: Node;
  /** What the next reconcile would change on it. */
  changes: NodePlan['changes'];
  /** See NodePlan. */
  circle?: readonly string[] | undefined;
  /** `leaving`: it still carries what the pool applied and is not a member any more. */
  membership: { kind: 'member' } | { kind: 'leaving' } | { kind: 'conflict'; owner: string };
}

export interface Description {
  pool: NodePool;
  nodes: DescribedNode[];
  runtimeClass: Permitted<RuntimeClass | undefined>;
  events: Permitted<PoolEventRecord[]>;
}

export async function describe(
  names: string[],
  deps: { cluster: ClusterPort; events: EventsPort },
): Promise<Description[]> {
  const [only] = names.length === 1 ? names : [];
  const reading = permitted(deps.cluster.runtimeClasses.list());
  const known = reading.then(classes => ('value' in classes ? classes.value : []));
  const [state, runtimeClasses, events] = await Promise.all([
    loadClusterState(deps.cluster, known),
    reading,
    permitted(deps.events.list(only)),
  ]);
  const selected = selectPools('describe', state, names);
  // Pools that do not exist and left records on nodes are not described.
  const gone = names.filter(name => state.pool(name) === undefined);
  if (gone.length > 0) throw poolNotFound('describe', gone);
  return selected.flatMap(name => {
    const pool = state.pool(name);
    if (pool === undefined) return [];
    const members = new Set(state.members(name));
    const held = state.held(name).map((node): DescribedNode => {
      const { changes = [], circle } = planOf(state, node.name) ?? {};
      return { node, changes, circle, membership: { kind: members.has(node) ? 'member' : 'leaving' } };
    });
    const lost = state.lost(name).map(({ node, owner }): DescribedNode => {
      return { node, changes: [], membership: { kind: 'conflict', owner: owner.metadata.name } };
    });
    return [
      {
        pool,
        nodes: [...held, ...lost].toSorted((a, b) => (a.node.name < b.node.name ? -1 : 1)),
        runtimeClass:
          'forbidden' in runtimeClasses ? runtimeClasses : { value: state.runtimeClass(runtimeClassName(name)) },
        events: 'forbidden' in events ? events : { value: eventsOf(pool, events.value) },
      },
    ];
  });
}

/** Newest last, as in kubectl describe. Events of an earlier pool of the same name are left out. */
function eventsOf(pool: NodePool, events: PoolEventRecord[]): PoolEventRecord[] {
  return events
    .filter(event => event.pool === pool.metadata.name)
    .filter(event => event.poolUid === undefined || event.poolUid === '' || event.poolUid === pool.metadata.uid)
    .toSorted(oldestFirst);
}
