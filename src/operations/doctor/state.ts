/** What is read of pools, nodes and RuntimeClasses, and what that shows. */
import type { NodePool, RuntimeClass } from '../../nodepool/types.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/cluster-state.ts';
import { differing } from '../../reconciler/node-plan.ts';
import { hasUnread } from '../../reconciler/unread-annotations.ts';
import { type Attempt, attempt } from '../attempt.ts';
import type { DoctorPort, ExaminedNode } from '../doctor-port.ts';
import type { Connection } from '../ports.ts';
import { type CheckId, type Finding, notChecked } from './check.ts';
import { checkMaintenance } from './maintenance.ts';
import { checkMembers } from './members.ts';
import { checkHandlers, checkOrphans, checkOverlaps, checkQuantities } from './nodes.ts';
import { checkMembership } from './policies.ts';
import { checkDrift, checkPools, checkSpecs, isBehind } from './pools.ts';
import { checkRuntimeClasses, strayLabels } from './runtime-classes.ts';
import { checkStartupTaints } from './startup-taints.ts';

export interface State {
  pools: Attempt<NodePool[]>;
  nodes: Attempt<ExaminedNode[]>;
  runtimeClasses: Attempt<RuntimeClass[]>;
  /** Of the pools and nodes that could be read. */
  cluster: ClusterState;
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
  const { pools, nodes, cluster } = state;
  if ('refusal' in pools || 'refusal' in nodes) return state;
  if (!pools.value.some(pool => isBehind(pool, cluster)) || !(await controllerRuns())) return state;
  await sleep(SETTLE_MS);
  return readOnce(connection, port);
}

async function readOnce({ cluster }: Pick<Connection, 'cluster'>, port: DoctorPort): Promise<State> {
  const [pools, nodes, runtimeClasses] = await Promise.all([
    attempt(() => cluster.pools.listCoerced()),
    attempt(() => port.nodes.list()),
    attempt(() => cluster.runtimeClasses.list()),
  ]);
  const state = stateOf(cluster, pools, nodes, runtimeClasses);
  if (!hasUnread(state.cluster)) return state;
  return stateOf(cluster, pools, await attempt(() => port.nodes.list()), runtimeClasses);
}

export function stateOf(
  cluster: Parameters<typeof clusterStateOf>[0],
  pools: State['pools'],
  nodes: State['nodes'],
  runtimeClasses: State['runtimeClasses'],
): State {
  const [known, listed] = ['value' in pools ? pools.value : [], 'value' in nodes ? nodes.value : []];
  return { pools, nodes, runtimeClasses, cluster: clusterStateOf(cluster, known, listed) };
}

/**
 * Findings from what could be read; checks that depend on the rest are left out.
 *
 * @param policiesOff the admission policies that are not in force; undefined where they could not be read
 * @param now for the age of nodes and the end of maintenances
 */
export function stateFindings(
  { pools: readPools, nodes: readNodes, runtimeClasses, cluster }: State,
  { policiesOff, now }: { policiesOff?: readonly string[] | undefined; now: Date },
): Partial<Record<CheckId, Finding>> {
  if ('refusal' in readPools) return { pools: notChecked(readPools.refusal) };
  const pools = readPools.value;
  const alone = {
    specs: checkSpecs(pools, cluster.rules.transient),
    membership: checkMembership(pools, policiesOff),
    'runtime-classes': checkRuntimeClasses(pools, runtimeClasses),
  };
  if ('refusal' in readNodes) {
    return { pools: checkPools(pools), ...alone, overlaps: notChecked(readNodes.refusal), drift: checkDrift(pools) };
  }
  const nodes = readNodes.value;
  const names = nodes.map(({ name }) => name);
  return {
    pools: checkPools(pools, cluster),
    ...alone,
    'runtime-classes': checkRuntimeClasses(pools, runtimeClasses, strayLabels(names, cluster), cluster),
    overlaps: checkOverlaps(pools, cluster),
    orphans: checkOrphans(pools, nodes, cluster),
    members: checkMembers(pools, cluster),
    maintenance: checkMaintenance(nodes, cluster, now),
    drift: checkDrift(pools, pool => differing(cluster, pool)),
    handlers: checkHandlers(pools, nodes, cluster),
    quantities: checkQuantities(pools, cluster),
    'startup-taints': checkStartupTaints(pools, cluster, now),
  };
}
