/** The state of pools and their recent events, for one page. Leaves out and names what this user may not read. */
import type { Clock } from '../../controller/clock.ts';
import type { ClusterReader, NodesClient } from '../../kube/cluster.ts';
import type { Connection } from '../../kube/connect.ts';
import type { EventsPort, PoolEventRecord } from '../../kube/resources/events.ts';
import { activeMaintenance, isOverdue, type Maintenance } from '../../nodepool/drain/maintenance.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import { ownValue } from '../../nodepool/json.ts';
import { allChanges, dueOf } from '../../nodepool/plan/plan.ts';
import type { LiveState } from '../../nodepool/status/state-word.ts';
import { GOOD_STATUS } from '../../nodepool/status/status.ts';
import { firstWarnings } from '../../nodepool/text.ts';
import type { Condition, Node, NodePool } from '../../nodepool/types.ts';
import { liveState } from '../../reconciler/plan/live-state.ts';
import { nodePlan } from '../../reconciler/plan/node-plan.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../reconciler/state/unread-annotations.ts';
import { withSetters } from '../shared/changes/drift-setters.ts';
import { type PoolNode, poolNodeOf } from '../shared/pools/nodes.ts';
import { permitted } from '../shared/refusals.ts';
import { type TopDeps, type TopOptions, type TopResult, top } from '../shared/top/top.ts';

export interface ReportOptions {
  /** Empty: all pools, and the nodes without a pool. */
  names: string[];
  /** A label selector for pools, in the server's syntax. */
  selector: string | undefined;
}

export interface ReportDeps {
  cluster: ClusterReader & { nodes: Pick<NodesClient, 'list' | 'fieldSetters'> };
  pods: TopDeps['pods'];
  nodeUsage: Connection['nodeUsage'];
  podUsage: Connection['podUsage'];
  events: Pick<EventsPort, 'list'>;
  serverFacts: Connection['serverFacts'];
  contextName: string | undefined;
  clusterName: string;
  clock: Clock;
  now: () => Date;
}

export interface ReportPool {
  pool: NodePool;
  live: LiveState;
  unschedulable: number;
  conflicts: number;
}

export interface ReportConflict {
  node: string;
  /** The pool matches the node but does not own it. */
  pool: string;
  owner: string;
}

export interface ReportMaintenance {
  node: string;
  pool: string | undefined;
  /** Undefined: a cordon without a maintenance. */
  maintenance: Maintenance | undefined;
  isOverdue: boolean;
}

export interface ListExcerpt<T> {
  items: T[];
  total: number;
}

export interface Report {
  context: string | undefined;
  clusterName: string;
  serverVersion: string | undefined;
  /** The server's time, or the local time without a Date header. */
  time: Date;
  /** Sorted by name. */
  pools: ListExcerpt<ReportPool>;
  /** Conditions of these pools that need action. */
  conditions: ListExcerpt<{ pool: string; condition: Condition }>;
  capacity: TopResult;
  /** Nodes that the next reconcile changes. */
  due: ListExcerpt<PoolNode>;
  conflicts: ListExcerpt<ReportConflict>;
  /** Overdue ones first, then by end; those without an end last. */
  maintenance: ListExcerpt<ReportMaintenance>;
  trend: EventTrend;
  /** Newest first. */
  events: ListExcerpt<PoolEventRecord>;
  /** A sentence each: what is left out, and what cannot be read. */
  warnings: string[];
}

/** Maximum items in a list: the page must open fast, even with 5,000 nodes. */
const MAX_ITEMS = 100;
/** Maximum pools in a table. */
export const MAX_POOLS = 500;

/** Throws NodepoolError, like top(). */
export async function report({ names, selector }: ReportOptions, deps: ReportDeps): Promise<Report> {
  const cluster = readOnce(deps.cluster);
  const options: TopOptions = {
    ...{ names, selector, resources: 'usual', sortBy: 'name' },
    ...{ pods: true, nodes: false, eachPod: false },
  };
  const requests = [permitted(deps.events.list()), deps.serverFacts()] as const;
  // If capacityOf() throws, these are never awaited.
  for (const each of requests) each.catch(() => {});
  const found = await capacityOf(options, { ...deps, cluster });
  const [events, server] = await Promise.all(requests);
  const state = clusterStateOf(cluster, await cluster.pools.listCoerced(), await cluster.nodes.list());
  await readAnnotations(state, () => deps.cluster.nodes.list());
  const time = server.time ?? deps.now();
  const chosen = new Set(found.capacity.pools.flatMap(({ pool }) => pool ?? []));
  const isAll = names.length === 0 && selector === undefined;
  const isChosen = (pool: string | undefined) => (pool === undefined ? isAll : chosen.has(pool));
  const seen = findProblems(state, time, isChosen);
  const pools = [...chosen].toSorted().flatMap(name => poolOf(name, state, time) ?? []);
  const { planned, unread } = await withSetters(seen.due.items, deps.cluster.nodes);
  const known = 'value' in events ? events.value.filter(({ pool }) => isAll || chosen.has(pool)) : [];
  const refusals = [...found.refusals, ...('forbidden' in events ? [events.forbidden] : [])];
  const newest = known.toSorted((a, b) => Date.parse(b.lastSeen) - Date.parse(a.lastSeen));
  return {
    ...{ context: deps.contextName, clusterName: deps.clusterName, serverVersion: server.version, time },
    pools: excerpt(pools, MAX_POOLS),
    conditions: excerpt(pools.flatMap(({ pool }) => troubles(pool))),
    capacity: found.capacity,
    due: { ...seen.due, items: planned },
    conflicts: seen.conflicts,
    maintenance: excerpt(seen.maintenance.toSorted(byUrgency)),
    trend: eventTrend(known, time),
    events: excerpt(newest),
    warnings: warningsOf(found.capacity.warnings, refusals, unread),
  };
}

/** Later reads reuse the response to the first request. */
function readOnce({ pools, nodes }: ClusterReader): ClusterReader {
  const [listed, read] = [pools.listCoerced(), nodes.list()];
  for (const each of [listed, read]) each.catch(() => {});
  return { pools: { listCoerced: () => listed }, nodes: { list: () => read, serverTime: nodes.serverTime } };
}

/** Without pods if this user may not read them. */
async function capacityOf(
  options: TopOptions,
  deps: TopDeps,
): Promise<{ capacity: TopResult; refusals: NodepoolError[] }> {
  const whole = await permitted(top(options, deps));
  if ('value' in whole) return { capacity: whole.value, refusals: [] };
  return { capacity: await top({ ...options, pods: false }, deps), refusals: [whole.forbidden] };
}

/** The problems of each node. If 5,000 nodes differ, only the listed ones are kept. */
function findProblems(state: ClusterState, time: Date, isChosen: (pool: string | undefined) => boolean) {
  const due: ListExcerpt<PoolNode> = { items: [], total: 0 };
  const conflicts: ListExcerpt<ReportConflict> = { items: [], total: 0 };
  const maintenance: ReportMaintenance[] = [];
  for (const { name } of state.nodes()) {
    const node = state.node(name);
    if (node === undefined) continue;
    const { owner, conflicting = [] } = state.ownership(name) ?? {};
    const isDue = allChanges(dueOf(nodePlan(state, name))).length > 0;
    const pool = owner ?? (isDue ? poolNodeOf(state, node).pool : undefined);
    if (isDue && isChosen(pool)) add(due, () => poolNodeOf(state, node));
    for (const rival of owner === undefined ? [] : conflicting) {
      if (isChosen(owner) || isChosen(rival)) add(conflicts, () => ({ node: name, pool: rival, owner: owner ?? '' }));
    }
    if (node.unschedulable && isChosen(pool)) maintenance.push(maintained(node, pool, time));
  }
  return { due, conflicts, maintenance };
}

function add<T>(to: ListExcerpt<T>, item: () => T): void {
  to.total++;
  if (to.items.length < MAX_ITEMS) to.items.push(item());
}

function poolOf(name: string, state: ClusterState, now: Date): ReportPool | undefined {
  const pool = state.pool(name);
  if (pool === undefined) return undefined;
  const unschedulable = state.members(name).filter(node => node.unschedulable).length;
  return { pool, live: liveState(state, pool, now), unschedulable, conflicts: state.lost(name).length };
}

function troubles(pool: NodePool): { pool: string; condition: Condition }[] {
  const isTrouble = ({ type, status }: Condition) =>
    ![undefined, 'either', status].includes(ownValue(GOOD_STATUS, type));
  return (pool.status?.conditions ?? []).filter(isTrouble).map(condition => ({ pool: pool.metadata.name, condition }));
}

function maintained(node: Node, pool: string | undefined, now: Date): ReportMaintenance {
  const maintenance = activeMaintenance(node);
  return { node: node.name, pool, maintenance, isOverdue: maintenance !== undefined && isOverdue(maintenance, now) };
}

function byUrgency(a: ReportMaintenance, b: ReportMaintenance): number {
  const end = ({ maintenance, isOverdue }: ReportMaintenance) => [
    isOverdue ? 0 : 1,
    maintenance === undefined ? 1 : 0,
    maintenance?.until === undefined ? Number.MAX_VALUE : Date.parse(maintenance.until),
  ];
  const [first, second] = [end(a), end(b)];
  for (const [at, value] of first.entries()) if (value !== second[at]) return value - (second[at] ?? 0);
  return a.node < b.node ? -1 : 1;
}

function warningsOf(ofTop: readonly string[], refusals: readonly NodepoolError[], unread: number): string[] {
  return [
    ...refusals.map(({ oneLine }) => `left out: ${oneLine}`),
    ...firstWarnings(ofTop),
    ...(unread > 0 ? [`who set the values is not shown for ${unread} more nodes`] : []),
  ];
}

function excerpt<T>(all: readonly T[], most = MAX_ITEMS): ListExcerpt<T> {
  return { items: all.slice(0, most), total: all.length };
}

export interface EventCount {
  from: Date;
  normal: number;
  /** Events of type Warning. */
  warning: number;
}

export interface EventTrend {
  intervalMs: number;
  /** Oldest first; the last interval ends now. */
  counts: EventCount[];
  /** Events before the first interval. */
  earlier: number;
}

const INTERVAL_MS = 5 * 60_000;
/** The server keeps Events for an hour by default. */
const INTERVALS = 12;

/** A repeated Event counts once, when it was last seen: its other times are unknown. */
export function eventTrend(events: readonly Pick<PoolEventRecord, 'lastSeen' | 'type'>[], now: Date): EventTrend {
  const end = Math.floor(now.getTime() / INTERVAL_MS + 1) * INTERVAL_MS;
  const start = end - INTERVALS * INTERVAL_MS;
  const counts = Array.from({ length: INTERVALS }, (_, at): EventCount => {
    return { from: new Date(start + at * INTERVAL_MS), normal: 0, warning: 0 };
  });
  let earlier = 0;
  for (const { lastSeen, type } of events) {
    const at = Math.floor((Date.parse(lastSeen) - start) / INTERVAL_MS);
    // An event time after now, from a clock that is ahead, counts as now.
    const interval = counts[Math.min(at, INTERVALS - 1)];
    if (interval === undefined) earlier++;
    else if (type === 'Warning') interval.warning++;
    else interval.normal++;
  }
  return { intervalMs: INTERVAL_MS, counts, earlier };
}
