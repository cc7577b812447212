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
import { checkDrift, checkPools, checkSpecs, isBehind } from './pools.ts';

export interface State {
  pools: Attempt<NodePool[]>;
  nodes: Attempt<ExaminedNode[]>;
}

/** Longer than a controller takes for a change of a node: it writes the status of a pool every 2 s at most. */
const SETTLE_MS = 3_000;

/**
 * Reads once more where a pool is behind its nodes, so that what a controller is about to write is not reported.
 * @param controllerRuns asked only then
 */
export async function readState(
  connection: Pick<Connection, 'cluster'>,
  port: DoctorPort,
  { controllerRuns, sleep }: { controllerRuns: () => Promise<boolean>; sleep: (ms: number) => Promise<void> },
): Promise<State> {
  const state = await readOnce(connection, port);
  const { pools, nodes } = state;
  if ('refusal' in pools || 'refusal' in nodes) return state;
  const cluster = new ClusterState(pools.value, nodes.value, []);
  if (!pools.value.some(pool => isBehind(pool, cluster)) || !(await controllerRuns())) return state;
  await sleep(SETTLE_MS);
  return readOnce(connection, port);
}

async function readOnce({ cluster }: Pick<Connection, 'cluster'>, port: DoctorPort): Promise<State> {
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
  const alone = { specs: checkSpecs(pools), membership: checkMembership(pools, policiesOff) };
  if ('refusal' in readNodes) {
    return { pools: checkPools(pools), ...alone, overlaps: notChecked(readNodes.refusal), drift: checkDrift(pools) };
  }
  const nodes = readNodes.value;
  const state = new ClusterState(pools, nodes, []);
  return {
    pools: checkPools(pools, state),
    ...alone,
    overlaps: checkOverlaps(pools, state),
    orphans: checkOrphans(pools, nodes, state),
    drift: checkDrift(pools, pool => differing(state, pool)),
    handlers: checkHandlers(pools, nodes, state),
    quantities: checkQuantities(pools, state),
  };
}
