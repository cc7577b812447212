/** The state of pools and what happened to them lately, for one page. What this user may not read is left out and named. */
import type { Clock } from '../../controller/clock.ts';
import type { ClusterReader, NodesClient } from '../../kube/cluster.ts';
import type { Connection } from '../../kube/connect.ts';
import type { EventsPort, PoolEventRecord } from '../../kube/resources/events.ts';
import { activeMaintenance, isOverdue, type Maintenance } from '../../nodepool/drain/maintenance.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import { allChanges, dueOf } from '../../nodepool/plan/plan.ts';
import type { LiveState } from '../../nodepool/status/state-word.ts';
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
  /** Empty: all pools, and the nodes of no pool. */
  names: string[];
  /** A label selector of pools, as the server takes it. */
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
  nodes: number;
  ready: number;
  unschedulable: number;
  /** Members and former members that the next reconcile would change. */
  drifted: number;
  conflicts: number;
}

export interface ReportConflict {
  node: string;
  /** Matches the node, and does not get it. */
  pool: string;
  owner: string;
}

export interface ReportMaintenance {
  node: string;
  pool: string | undefined;
  /** Undefined: the node is cordoned without a reason. */
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
  /** By the server's clock, or the local one without a Date header. */
  time: Date;
  /** By name. */
  pools: ListExcerpt<ReportPool>;
  /** Conditions of these pools that somebody has to act on. */
  conditions: ListExcerpt<{ pool: string; condition: Condition }>;
  capacity: TopResult;
  drift: ListExcerpt<PoolNode>;
  conflicts: ListExcerpt<ReportConflict>;
  /** Overdue ones first, then by their end; those without one last. */
  maintenance: ListExcerpt<ReportMaintenance>;
  trend: EventTrend;
  /** The newest first. */
  events: ListExcerpt<PoolEventRecord>;
  /** What is left out, and what cannot be read; each a sentence. */
  warnings: string[];
}

/** Items of a list: the page of 5,000 nodes is to open at once. */
const MAX_ITEMS = 100;
/** Pools in a table. */
export const MAX_POOLS = 500;
/** Sentences about what cannot be read. */
const MAX_WARNINGS = 10;

/** Throws NodepoolError as top() does. */
export async function report({ names, selector }: ReportOptions, deps: ReportDeps): Promise<Report> {
  const cluster = readOnce(deps.cluster);
  const options: TopOptions = {
    ...{ names, selector, resources: 'usual', sortBy: 'name' },
    ...{ pods: true, nodes: false, eachPod: false },
  };
  const requests = [permitted(deps.events.list()), deps.serverFacts()] as const;
  // Where capacityOf() throws, these are not awaited.
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
  const pools = [...chosen].toSorted().flatMap(name => poolOf(name, state, seen.driftedOf, time) ?? []);
  const { planned, unread } = await withSetters(seen.drift.items, deps.cluster.nodes);
  const known = 'value' in events ? events.value.filter(({ pool }) => isAll || chosen.has(pool)) : [];
  const refusals = [...found.refusals, ...('forbidden' in events ? [events.forbidden] : [])];
  const newest = known.toSorted((a, b) => Date.parse(b.lastSeen) - Date.parse(a.lastSeen));
  return {
    ...{ context: deps.contextName, clusterName: deps.clusterName, serverVersion: server.version, time },
    pools: excerpt(pools, MAX_POOLS),
    conditions: excerpt(pools.flatMap(({ pool }) => troubles(pool))),
    capacity: found.capacity,
    drift: { ...seen.drift, items: planned },
    conflicts: seen.conflicts,
    maintenance: excerpt(seen.maintenance.toSorted(byUrgency)),
    trend: eventTrend(known, time),
    events: excerpt(newest),
    warnings: warningsOf(found.capacity.warnings, refusals, unread),
  };
}

/** The answers to the first request stand for the next ones. */
function readOnce({ pools, nodes }: ClusterReader): ClusterReader {
  const [listed, read] = [pools.listCoerced(), nodes.list()];
  for (const each of [listed, read]) each.catch(() => {});
  return { pools: { listCoerced: () => listed }, nodes: { list: () => read, serverTime: nodes.serverTime } };
}

/** Without pods where this user may not read them. */
async function capacityOf(
  options: TopOptions,
  deps: TopDeps,
): Promise<{ capacity: TopResult; refusals: NodepoolError[] }> {
  const whole = await permitted(top(options, deps));
  if ('value' in whole) return { capacity: whole.value, refusals: [] };
  return { capacity: await top({ ...options, pods: false }, deps), refusals: [whole.forbidden] };
}

/** What is wrong with which node. Of 5,000 nodes that differ only those that are listed are kept. */
function findProblems(state: ClusterState, time: Date, isChosen: (pool: string | undefined) => boolean) {
  const drift: ListExcerpt<PoolNode> = { items: [], total: 0 };
  const conflicts: ListExcerpt<ReportConflict> = { items: [], total: 0 };
  const maintenance: ReportMaintenance[] = [];
  const driftedOf = new Map<string, number>();
  for (const { name } of state.nodes()) {
    const node = state.node(name);
    if (node === undefined) continue;
    const { owner, conflicting = [] } = state.ownership(name) ?? {};
    const isDrifted = allChanges(dueOf(nodePlan(state, name))).length > 0;
    const pool = owner ?? (isDrifted ? poolNodeOf(state, node).pool : undefined);
    if (isDrifted && isChosen(pool)) {
      driftedOf.set(pool ?? '', (driftedOf.get(pool ?? '') ?? 0) + 1);
      add(drift, () => poolNodeOf(state, node));
    }
    for (const rival of owner === undefined ? [] : conflicting) {
      if (isChosen(owner) || isChosen(rival)) add(conflicts, () => ({ node: name, pool: rival, owner: owner ?? '' }));
    }
    if (node.unschedulable && isChosen(pool)) maintenance.push(maintained(node, pool, time));
  }
  return { drift, conflicts, maintenance, driftedOf };
}

function add<T>(to: ListExcerpt<T>, item: () => T): void {
  to.total++;
  if (to.items.length < MAX_ITEMS) to.items.push(item());
}

function poolOf(
  name: string,
  state: ClusterState,
  driftedOf: ReadonlyMap<string, number>,
  now: Date,
): ReportPool | undefined {
  const pool = state.pool(name);
  if (pool === undefined) return undefined;
  const members = state.members(name);
  return {
    ...{ pool, live: liveState(state, pool, now), nodes: members.length, ready: count(members, ({ ready }) => ready) },
    unschedulable: count(members, ({ unschedulable }) => unschedulable),
    drifted: driftedOf.get(name) ?? 0,
    conflicts: state.lost(name).length,
  };
}

function troubles(pool: NodePool): { pool: string; condition: Condition }[] {
  const isTrouble = ({ type, status }: Condition) =>
    type === 'Ready' || type === 'Applied'
      ? status !== 'True'
      : ['Conflict', 'Stalled', 'ResourcesOmitted', 'TaintsNotRestored', 'StartupTaintsStuck'].includes(type) &&
        status === 'True';
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
  const more = ofTop.length - MAX_WARNINGS;
  return [
    ...refusals.map(({ oneLine }) => `left out: ${oneLine}`),
    ...ofTop.slice(0, MAX_WARNINGS),
    ...(more > 0 ? [`and ${more} more that you may not read`] : []),
    ...(unread > 0 ? [`who set the values is not shown for ${unread} more nodes`] : []),
  ];
}

function excerpt<T>(all: readonly T[], most = MAX_ITEMS): ListExcerpt<T> {
  return { items: all.slice(0, most), total: all.length };
}

function count<T>(all: readonly T[], is: (item: T) => boolean): number {
  return all.filter(is).length;
}

export interface EventCount {
  from: Date;
  normal: number;
  /** Of the type Warning. */
  warning: number;
}

export interface EventTrend {
  intervalMs: number;
  /** The oldest first; the last one ends now. */
  counts: EventCount[];
  /** Events that were seen before the first one. */
  earlier: number;
}

const INTERVAL_MS = 5 * 60_000;
/** The server keeps Events for an hour by default. */
const INTERVALS = 12;

/** A repeated Event counts once, when it was seen last: the times of the others are not known. */
export function eventTrend(events: readonly Pick<PoolEventRecord, 'lastSeen' | 'type'>[], now: Date): EventTrend {
  const end = Math.floor(now.getTime() / INTERVAL_MS + 1) * INTERVAL_MS;
  const start = end - INTERVALS * INTERVAL_MS;
  const counts = Array.from({ length: INTERVALS }, (_, at): EventCount => {
    return { from: new Date(start + at * INTERVAL_MS), normal: 0, warning: 0 };
  });
  let earlier = 0;
  for (const { lastSeen, type } of events) {
    const at = Math.floor((Date.parse(lastSeen) - start) / INTERVAL_MS);
    // A clock that is ahead of the server's counts as now.
    const interval = counts[Math.min(at, INTERVALS - 1)];
    if (interval === undefined) earlier++;
    else if (type === 'Warning') interval.warning++;
    else interval.normal++;
  }
  return { intervalMs: INTERVAL_MS, counts, earlier };
}
