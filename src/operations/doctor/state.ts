/** What is read of pools and nodes, and what that shows. */
import type { NodePool } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/cluster-state.ts';
import { differing } from '../../reconciler/node-plan.ts';
import { type Attempt, attempt } from '../attempt.ts';
import type { DoctorPort, ExaminedNode } from '../doctor-port.ts';
import type { Connection } from '../ports.ts';
import { type CheckId, type Finding, notChecked } from './check.ts';
import { checkHandlers, checkOrphans, checkOverlaps, checkQuantities } from './nodes.ts';
import { checkMembership } from './policies.ts';
import { checkDrift, checkPools, checkSpecs } from './pools.ts';

export interface State {
  pools: Attempt<NodePool[]>;
  nodes: Attempt<ExaminedNode[]>;
}

export async function readState({ cluster }: Pick<Connection, 'cluster'>, port: DoctorPort): Promise<State> {
  const [pools, nodes] = await Promise.all([
    attempt(() => cluster.pools.listCoerced()),
    attempt(() => port.nodes.list()),
  ]);
  return { pools, nodes };
}

/**
 * Findings from what could be read; checks that depend on the rest are left out.
 *
 * @param policiesOff the admission policies that are not in force; undefined where they could not be read
 */
export function stateFindings(
  { pools: readPools, nodes: readNodes }: State,
  policiesOff?: readonly string[],
): Partial<Record<CheckId, Finding>> {
  if ('refusal' in readPools) return { pools: notChecked(readPools.refusal) };
  const pools = readPools.value;
  const alone = { pools: checkPools(pools), specs: checkSpecs(pools), membership: checkMembership(pools, policiesOff) };
  if ('refusal' in readNodes) return { ...alone, overlaps: notChecked(readNodes.refusal), drift: checkDrift(pools) };
  const nodes = readNodes.value;
  const state = new ClusterState(pools, nodes, []);
  return {
    ...alone,
    overlaps: checkOverlaps(pools, state),
    orphans: checkOrphans(pools, nodes, state),
    drift: checkDrift(pools, pool => differing(state, pool)),
    handlers: checkHandlers(pools, nodes, state),
    quantities: checkQuantities(pools, state),
  };
}
