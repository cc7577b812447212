import type { Connection } from '../../kube/connect.ts';
import type { DoctorPort, ExaminedNode } from '../../kube/resources/doctor.ts';
import {
  isOverdue,
  type MaintenanceState,
  maintenanceOf,
  maintenanceText,
  ownerText,
} from '../../nodepool/drain/maintenance.ts';
import { strayLabelRemedy, strayPoolLabel } from '../../nodepool/membership/explain.ts';
import { almostMatches } from '../../nodepool/membership/near-miss.ts';
import { membershipSelector, partsOf } from '../../nodepool/membership/selector.ts';
import { isRolloutStep } from '../../nodepool/plan/plan.ts';
import { planRuntimeClass, type RuntimeClassPlan, runtimeClassName } from '../../nodepool/plan/runtime-class.ts';
import { stuckStartupTaints } from '../../nodepool/plan/startup-taints.ts';
import { validatePool } from '../../nodepool/spec/validation.ts';
import { plural } from '../../nodepool/text.ts';
import {
  MAINTENANCE_ANNOTATION,
  type Node,
  type NodePool,
  POOL_LABEL,
  type RuntimeClass,
} from '../../nodepool/types.ts';
import { liveState } from '../../reconciler/plan/live-state.ts';
import { differing, nodePlan } from '../../reconciler/plan/node-plan.ts';
import { recordedMembers } from '../../reconciler/plan/rollout-plan.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { hasUnread } from '../../reconciler/state/unread-annotations.ts';
import { type CheckFinding, type CheckId, error, named, notChecked, ok, warning } from '../shared/check.ts';
import { emptyPools, noMatchWarnings } from '../shared/consent/no-match.ts';
import { type ValueOrRefusal, valueOrRefusal } from '../shared/refusals.ts';
import { checkMembership } from './permissions.ts';
import {
  checkDue,
  checkHandlers,
  checkOrphans,
  checkOverlaps,
  checkPools,
  checkQuantities,
  checkRollouts,
  checkSpecs,
  holdsBack,
  isBehind,
  type LiveOf,
} from './pools.ts';

export interface DoctorState {
  pools: ValueOrRefusal<NodePool[]>;
  nodes: ValueOrRefusal<ExaminedNode[]>;
  runtimeClasses: ValueOrRefusal<RuntimeClass[]>;
  /** The pools and nodes that could be read. */
  cluster: ClusterState;
}

/** Longer than a controller needs to process a node change: it writes the status of a pool at most every 2 s. */
const SETTLE_MS = 3_000;

/** Reads again if a pool is behind its nodes: a controller may be writing. @param controllerRuns only called then */
export async function readState(
  connection: Connection,
  port: DoctorPort,
  { controllerRuns, sleep }: { controllerRuns: () => Promise<boolean>; sleep: (ms: number) => Promise<void> },
): Promise<DoctorState> {
  const state = await readOnce(connection, port);
  const { pools, nodes, cluster } = state;
  if ('refusal' in pools || 'refusal' in nodes) return state;
  if (!pools.value.some(pool => isBehind(pool, cluster)) || !(await controllerRuns())) return state;
  await sleep(SETTLE_MS);
  return readOnce(connection, port);
}

async function readOnce({ cluster }: Connection, port: DoctorPort): Promise<DoctorState> {
  const [pools, nodes, runtimeClasses] = await Promise.all([
    valueOrRefusal(() => cluster.pools.listCoerced()),
    valueOrRefusal(() => port.nodes.list()),
    valueOrRefusal(() => cluster.runtimeClasses.list()),
  ]);
  const state = stateOf(cluster, pools, nodes, runtimeClasses);
  if (!hasUnread(state.cluster)) return state;
  return stateOf(cluster, pools, await valueOrRefusal(() => port.nodes.list()), runtimeClasses);
}

export function stateOf(
  cluster: Parameters<typeof clusterStateOf>[0],
  pools: DoctorState['pools'],
  nodes: DoctorState['nodes'],
  runtimeClasses: DoctorState['runtimeClasses'],
): DoctorState {
  const [known, listed] = ['value' in pools ? pools.value : [], 'value' in nodes ? nodes.value : []];
  return { pools, nodes, runtimeClasses, cluster: clusterStateOf(cluster, known, listed) };
}

/** Leaves out checks that depend on what could not be read. @param policiesOff undefined if not read */
export function stateFindings(
  { pools: readPools, nodes: readNodes, runtimeClasses, cluster }: DoctorState,
  { policiesOff, now }: { policiesOff?: readonly string[] | undefined; now: Date },
): Partial<Record<CheckId, CheckFinding>> {
  if ('refusal' in readPools) return { pools: notChecked(readPools.refusal) };
  const pools = readPools.value;
  const alone = {
    specs: checkSpecs(pools, cluster.rules.transient),
    membership: checkMembership(pools, policiesOff),
    'runtime-classes': checkRuntimeClasses(pools, runtimeClasses),
  };
  if ('refusal' in readNodes) {
    const found = { pools: checkPools(pools), rollouts: checkRollouts(pools) };
    return { ...found, ...alone, overlaps: notChecked(readNodes.refusal), due: checkDue(pools) };
  }
  const nodes = readNodes.value;
  const names = nodes.map(({ name }) => name);
  const live = new Map(pools.map(pool => [pool, liveState(cluster, pool, now)]));
  const liveOf = (pool: NodePool) => live.get(pool) ?? liveState(cluster, pool, now);
  return {
    pools: checkPools(pools, cluster, liveOf),
    rollouts: checkRollouts(pools, liveOf),
    ...alone,
    'runtime-classes': checkRuntimeClasses(pools, runtimeClasses, strayLabels(names, cluster), cluster),
    overlaps: checkOverlaps(pools, cluster),
    orphans: checkOrphans(pools, nodes, cluster),
    members: checkMembers(pools, cluster),
    maintenance: checkMaintenance(nodes, cluster, now),
    due: checkDue(pools, pool => writable(cluster, pool, liveOf)),
    handlers: checkHandlers(pools, nodes, cluster),
    quantities: checkQuantities(pools, cluster),
    'startup-taints': checkStartupTaints(pools, cluster, now),
  };
}

/** Members that differ, except those that a stopped rollout holds back, which the check `rollouts` reports. */
function writable(cluster: ClusterState, pool: string, liveOf: LiveOf): string[] {
  const names = differing(cluster, pool);
  const known = cluster.pool(pool);
  return known !== undefined && holdsBack(known, liveOf)
    ? names.filter(name => !isRolloutStep(nodePlan(cluster, name)))
    : names;
}

// Maintenances that are past their end, and maintenance annotations that are no longer valid.

/** The order of the details. */
const KINDS = ['overdue', 'stale', 'unreadable', 'active'] as const;

interface MaintenanceGroup {
  kind: (typeof KINDS)[number];
  pool: string | undefined;
  state: MaintenanceState;
  nodes: string[];
}

/** A suggested command names at most this many nodes; for more, it has a placeholder. */
const MAX_NODES = 10;

/** @param nodes all nodes, including those in no pool */
export function checkMaintenance(nodes: readonly Node[], state: ClusterState, now: Date): CheckFinding {
  const groups = groupsOf(nodes, state, now);
  const count = (kind: MaintenanceGroup['kind']) =>
    groups.filter(group => group.kind === kind).reduce((sum, group) => sum + group.nodes.length, 0);
  const details = groups.map(group => `${detailOf(group, now)}${stepOf(group)}`);
  const [overdue, broken, active] = [count('overdue'), count('stale') + count('unreadable'), count('active')];
  if (overdue + broken === 0) {
    const are = active === 1 ? 'is' : 'are';
    const message =
      active === 0 ? 'no node is under maintenance' : `${plural(active, 'node')} ${are} under maintenance`;
    return ok(message, details);
  }
  const message = [
    ...(overdue > 0 ? [`maintenance is overdue on ${plural(overdue, 'node')}`] : []),
    ...(broken > 0
      ? [`${plural(broken, 'node')} ${broken === 1 ? 'has' : 'have'} a leftover maintenance annotation`]
      : []),
  ].join('; ');
  return warning(message, 'ask the owners, then end each maintenance with the command on its line', details);
}

function groupsOf(nodes: readonly Node[], cluster: ClusterState, now: Date): MaintenanceGroup[] {
  const groups = new Map<string, MaintenanceGroup>();
  for (const node of nodes) {
    const state = maintenanceOf(node);
    if (state === undefined) continue;
    const kind = state.kind === 'active' && isOverdue(state.maintenance, now) ? 'overdue' : state.kind;
    const pool = cluster.ownership(node.name)?.owner;
    const text = state.kind === 'unreadable' ? '' : maintenanceText(state.maintenance, now);
    const key = JSON.stringify([kind, pool, text]);
    const group = groups.get(key) ?? { kind, pool, state, nodes: [] };
    group.nodes.push(node.name);
    groups.set(key, group);
  }
  const rank = ({ kind }: MaintenanceGroup) => KINDS.indexOf(kind);
  return [...groups.values()].toSorted((a, b) => rank(a) - rank(b) || (endOf(a) < endOf(b) ? -1 : 1));
}

/** The earliest end first. */
function endOf({ state }: MaintenanceGroup): string {
  if (state.kind === 'unreadable' || state.maintenance.until === undefined) return '\uffff';
  return new Date(state.maintenance.until).toISOString();
}

function detailOf({ kind, pool, state, nodes }: MaintenanceGroup, now: Date): string {
  const where = `${pool === undefined ? '' : `${pool}: `}${plural(nodes.length, 'node')}: ${named(nodes)}`;
  if (state.kind === 'unreadable') return `${where}: the annotation ${MAINTENANCE_ANNOTATION} cannot be read`;
  if (state.kind === 'active') return `${where}: ${maintenanceText(state.maintenance, now)}`;
  const why = state.why === 'schedulable' ? 'made schedulable by others afterwards' : 'recreated afterwards';
  return `${where}: ${kind}, ${why}: ${ownerText(state.maintenance.owner)} since ${state.maintenance.since}`;
}

/** The command that ends it on these nodes only: others may be cordoned for another reason, as may invalid ones. */
function stepOf({ kind, pool, state, nodes }: MaintenanceGroup): string {
  if (kind === 'active') return '';
  const names = nodes.length > MAX_NODES ? ['NODE…'] : nodes.toSorted();
  const annotate = `kubectl annotate node ${names.join(' ')} ${MAINTENANCE_ANNOTATION}-`;
  const isUncordoned = kind === 'overdue' || (state.kind === 'stale' && state.why === 'schedulable');
  if (!isUncordoned) return `; \`${annotate}\``;
  if (pool === undefined) {
    const uncordon = kind === 'overdue' ? `kubectl uncordon ${names.join(' ')} && ` : '';
    return `; \`${uncordon}${annotate}\``;
  }
  const takeover = kind === 'overdue' ? ' --takeover' : '';
  return `; \`kubectl nodepool uncordon ${pool} --node ${names.join(',')}${takeover}\``;
}

// Members that are not Ready, and pools that no node matches. An empty pool is no problem: it may be new, or scaled to
// zero. But if nodes without a pool almost match its selector, one of them has a typo.

function checkMembers(pools: NodePool[], state: ClusterState): CheckFinding {
  const down: string[] = [];
  const notReady = pools.flatMap(({ metadata: { name } }) => {
    const members = state.members(name);
    const names = members.filter(({ ready }) => !ready).map(node => node.name);
    down.push(...names);
    return names.length === 0
      ? []
      : [`${name}: ${names.length} of ${plural(members.length, 'member')}: ${named(names)}`];
  });
  const empty = emptyPools(state, pools);
  const nodes = [...state.nodes()];
  const unmatched = noMatchWarnings(empty, nodes).map(({ message }) => message);
  const details = [...notReady, ...unmatched];
  const count = down.length;
  if (count > 0) {
    const without = unmatched.length === 0 ? '' : `, ${plural(unmatched.length, 'pool')} without nodes`;
    return warning(
      `${plural(count, 'member')} ${count === 1 ? 'is' : 'are'} not Ready${without}`,
      `see why: \`kubectl describe node ${count === 1 ? down[0] : 'NODE'}\``,
      details,
    );
  }
  const unowned = nodes.filter(({ name }) => state.ownership(name)?.owner === undefined);
  const mistyped = empty.filter(pool => {
    const parts = partsOf(membershipSelector(pool));
    return unowned.some(({ labels }) => almostMatches(parts, labels));
  });
  if (mistyped.length > 0) {
    const matches = mistyped.length === 1 ? 'matches' : 'match';
    return warning(
      `${plural(mistyped.length, 'pool')} ${matches} no node, but almost ${matches} nodes without a pool`,
      'change the selector with `kubectl nodepool edit POOL`, or label the nodes',
      details,
    );
  }
  return ok(pools.length === 0 ? 'there are no pools' : 'every member is Ready', details);
}

// Startup taints that stay too long, including those that a node registered with.

function checkStartupTaints(pools: readonly NodePool[], state: ClusterState, now: Date): CheckFinding {
  const details = pools.flatMap(pool => {
    const { name } = pool.metadata;
    return stuckStartupTaints(pool, state.members(name), () => now).texts.map(text => `${name}: ${text}`);
  });
  if (details.length === 0) return ok('no startup taint is older than 15 minutes');
  return warning(
    'startup taints are older than 15 minutes',
    'check the agent that removes the taint or sets the condition of `until`; to remove a taint by hand, use `kubectl taint`',
    details,
  );
}

// The RuntimeClasses of pools, compared as `diff` does, and nodes that they select without being members.

const NO_HANDLER = 'no pool has a runtime handler';

/** @param strays from strayLabels() @param state if nodes could be read: some may not have the new spec yet */
export function checkRuntimeClasses(
  pools: readonly NodePool[],
  read: ValueOrRefusal<RuntimeClass[]>,
  strays: readonly string[] = [],
  state?: ClusterState,
): CheckFinding {
  const found = checkClasses(pools, read, state);
  if (strays.length === 0) return found;
  const message = `nodes have the label ${POOL_LABEL}, but no pool set it: a RuntimeClass may select these nodes`;
  const remedy = strayLabelRemedy('NODE');
  const details = [...found.details, ...strays];
  if (found.status === 'ok') return warning(message, remedy, details);
  return { ...found, message: `${found.message}; ${message}`, details, remedy: `${found.remedy}; ${remedy}` };
}

/** Nodes with a label that only RuntimeClasses of pools select by, and that no pool has set, grouped by its value. */
export function strayLabels(names: readonly string[], state: ClusterState): string[] {
  const strays = names.flatMap(name => {
    const [node, ownership] = [state.node(name), state.ownership(name)];
    if (node === undefined || ownership === undefined) return [];
    const owner = ownership.owner === undefined ? undefined : state.pool(ownership.owner);
    const value = strayPoolLabel(node, ownership, owner);
    return value === undefined ? [] : [{ name, value }];
  });
  return [...Map.groupBy(strays, ({ value }) => value)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([value, nodes]) => `${POOL_LABEL}=${value}: ${named(nodes.map(({ name }) => name))}`);
}

function checkClasses(
  pools: readonly NodePool[],
  read: ValueOrRefusal<RuntimeClass[]>,
  state: ClusterState | undefined,
): CheckFinding {
  const hasHandlers = pools.some(({ spec }) => spec.handler);
  if ('refusal' in read) return hasHandlers ? notChecked(read.refusal) : ok(NO_HANDLER);
  const classes = new Map(read.value.map(each => [each.metadata.name, each]));
  // The RuntimeClass of a pool with an invalid spec is left unchanged.
  const plans = pools
    .filter(pool => validatePool(pool).length === 0)
    .map(pool => {
      const known = classes.get(runtimeClassName(pool.metadata.name));
      return { pool, plan: planRuntimeClass(pool, known, state && recordedMembers(pool, state)) };
    });
  const details = plans.flatMap(({ pool, plan }) => {
    const what = difference(plan, pool);
    const { name } = pool.metadata;
    return what === undefined ? [] : [`${name}: RuntimeClass ${runtimeClassName(name)} ${what}`];
  });
  const foreign = plans.filter(({ plan }) => plan.kind === 'foreign');
  if (details.length === 0) return ok(hasHandlers ? 'every pool with a handler has its RuntimeClass' : NO_HANDLER);
  const remedies = [
    ...(foreign.length === 0
      ? []
      : ['delete the RuntimeClass of the other owner, or remove spec.handler from the pool']),
    ...(foreign.length === details.length ? [] : ['run `kubectl nodepool reconcile`']),
  ];
  return (foreign.length > 0 ? error : warning)('RuntimeClasses differ from their pools', remedies.join('; '), details);
}

function difference(plan: RuntimeClassPlan, { spec }: NodePool): string | undefined {
  switch (plan.kind) {
    case 'none':
      return undefined;
    case 'create':
      return 'is missing';
    case 'delete':
      return 'is left over: the pool has no handler';
    case 'foreign':
      return 'does not belong to the pool';
    case 'patch':
      return 'differs from the pool in its nodeSelector or tolerations';
    case 'replace': {
      const { handler, metadata } = plan.current;
      if (metadata.deletionTimestamp !== undefined) return 'is being deleted';
      return handler === spec.handler
        ? 'belongs to an earlier pool of the same name'
        : `has the handler ${handler} instead of ${spec.handler}`;
    }
  }
}
