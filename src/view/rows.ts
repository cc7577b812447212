/** The rows of the lists: pools, nodes, events. Cells are rendered only for visible rows. */
import { shortEvent } from '../commands/shared/describe/print-timeline.ts';
import type { PoolEventRecord } from '../kube/resources/events.ts';
import { countMaintenance, type MaintenanceCounts } from '../nodepool/drain/maintenance.ts';
import { ownValue } from '../nodepool/json.ts';
import { allChanges, dueOf } from '../nodepool/plan/plan.ts';
import { isAccelerator } from '../nodepool/quantity/amounts.ts';
import { sumAllocatable } from '../nodepool/quantity/node-resources.ts';
import type { LiveState } from '../nodepool/status/state-word.ts';
import type { Node, NodePool, ResourceList } from '../nodepool/types.ts';
import type { NodeMembership } from '../print/cells.ts';
import { numberOf } from '../print/quantity.ts';
import type { Style } from '../print/style.ts';
import type { StyledText } from '../print/table.ts';
import { blockedOf } from '../reconciler/plan/blocked.ts';
import { liveState } from '../reconciler/plan/live-state.ts';
import { nodePlan } from '../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../reconciler/state/cluster-state.ts';
import { NO_POOL } from './places.ts';
import type { LiveView } from './view.ts';

export interface PoolRow {
  key: string;
  /** Undefined for the nodes without a pool. */
  pool: NodePool | undefined;
  counts: NodeCounts;
  /** Ready or not: all nodes that need an uncordon. */
  cordoned: number;
  size: number;
  /** From the current nodes; undefined for the nodes without a pool. */
  live: LiveState | undefined;
  allocatable: ResourceList;
  members: readonly Node[];
}

export interface NodeRow {
  key: string;
  node: Node;
  /** The node's owner. */
  pool: string | undefined;
  /** As in `describe`; undefined for a node without a pool. */
  membership: NodeMembership | undefined;
  /** Number of changes of the next reconcile on this node. */
  changes: number;
  /** Why it makes none, in a word. */
  blocked?: string | undefined;
}

export interface EventRow {
  key: string;
  event: PoolEventRecord;
}

export interface NodeTotals {
  nodes: number;
  counts: NodeCounts;
  cordoned: number;
  maintenance: MaintenanceCounts;
  /** Number of nodes without a pool. */
  unassigned: number;
  allocatable: ResourceList;
}

/** Pools, and a row for nodes without a pool, if any. @param now by the server's clock, for rollouts */
export function poolRows(clusterState: ClusterState, now: Date): PoolRow[] {
  const rows = clusterState.poolNames().flatMap((name): PoolRow[] => {
    const pool = clusterState.pool(name);
    if (pool === undefined) return [];
    const members = clusterState.members(name);
    const live = liveState(clusterState, pool, now);
    return [{ key: name, pool, live, ...summary(members), size: members.length, members }];
  });
  const unassigned = unassignedNodes(clusterState);
  if (unassigned.length === 0) return rows;
  const { length: size } = unassigned;
  const none = { key: NO_POOL, pool: undefined, live: undefined };
  return [...rows, { ...none, ...summary(unassigned), size, members: unassigned }];
}

function unassignedNodes(clusterState: ClusterState): Node[] {
  return [...clusterState.nodes()].filter(({ name }) => clusterState.ownership(name)?.owner === undefined);
}

/** Members, former members and matching nodes of others. @param pool undefined: all nodes */
export function nodeRows(clusterState: ClusterState, pool: string | undefined): NodeRow[] {
  if (pool === undefined) return [...clusterState.nodes()].map(node => nodeRow(clusterState, node, undefined));
  if (pool === NO_POOL) return unassignedNodes(clusterState).map(node => nodeRow(clusterState, node, undefined));
  const rows = clusterState.managedNodes(pool).map(node => nodeRow(clusterState, node, pool));
  const lost = clusterState.lost(pool).map(({ node, owner }): NodeRow => {
    const { name } = owner.metadata;
    return { key: node.name, node, pool: name, membership: { kind: 'conflict', owner: name }, changes: 0 };
  });
  return [...rows, ...lost];
}

/** @param of the pool of the list */
function nodeRow(clusterState: ClusterState, node: Node, of: string | undefined): NodeRow {
  const ownership = clusterState.ownership(node.name);
  const pool = ownership?.owner;
  const plan = nodePlan(clusterState, node.name);
  const row = { key: node.name, node, pool, changes: 0, blocked: blockedOf(clusterState, plan)?.word };
  if (pool === undefined || (of !== undefined && pool !== of)) {
    const isLeaving = of !== undefined || ownership?.record !== undefined;
    return { ...row, membership: isLeaving ? { kind: 'leaving' } : undefined };
  }
  const changes = allChanges(dueOf(plan)).length;
  return { ...row, membership: { kind: 'member' }, changes };
}

/** Events of one or all pools, except those of a deleted pool of the same name. */
export function eventRows(
  { clusterState, events }: Pick<LiveView, 'clusterState' | 'events'>,
  pool: string | undefined,
): EventRow[] {
  const rows: EventRow[] = [];
  for (const [key, event] of events()) {
    if (pool !== undefined && event.pool !== pool) continue;
    const uid = pool === undefined ? undefined : clusterState.pool(pool)?.metadata.uid;
    if (uid !== undefined && event.poolUid && event.poolUid !== uid) continue;
    rows.push({ key, event: shortEvent(event) });
  }
  return rows;
}

export function nodeTotals(clusterState: ClusterState, now: Date): NodeTotals {
  const all = [...clusterState.nodes()];
  const maintenance = countMaintenance(all, now);
  return { nodes: all.length, ...summary(all), maintenance, unassigned: unassignedNodes(clusterState).length };
}

/** For sorting; a missing or invalid quantity counts as 0. */
export function amount(list: ResourceList, resource: string): number {
  return numberOf(ownValue(list, resource) ?? '0') ?? 0;
}

/** The resource in the column GPUS: the first accelerator with an amount above 0. */
export function gpuOf(list: ResourceList): string | undefined {
  return Object.keys(list)
    .filter(isAccelerator)
    .sort()
    .find(name => amount(list, name) > 0);
}

function summary(nodes: readonly Node[]): Pick<PoolRow, 'counts' | 'cordoned' | 'allocatable'> {
  const ready = nodes.filter(node => node.ready);
  const schedulable = ready.filter(node => !node.unschedulable).length;
  return {
    counts: { schedulable, cordoned: ready.length - schedulable, notReady: nodes.length - ready.length },
    cordoned: nodes.filter(node => node.unschedulable).length,
    allocatable: sumAllocatable(nodes),
  };
}

// Bars for the nodes of a pool.

/** Nodes by state. Each state has its own glyph, so that bars are readable without colour. */
interface NodeCounts {
  /** Ready and schedulable. */
  schedulable: number;
  /** Ready and cordoned. */
  cordoned: number;
  notReady: number;
}

const [SCHEDULABLE, CORDONED, NOT_READY] = ['█', '▒', '░'];

/** A state with nodes gets at least one character, if there is room for all states. */
export function nodesBar({ schedulable, cordoned, notReady }: NodeCounts, width: number, style: Style): StyledText {
  const [a = 0, b = 0, c = 0] = proportions([schedulable, cordoned, notReady], width);
  const text = SCHEDULABLE.repeat(a) + CORDONED.repeat(b) + NOT_READY.repeat(c);
  return { text: text.padEnd(width), paint: shown => paintBar(shown, style) };
}

/** Paints the glyphs of bars in a text. */
export function paintBar(text: string, style: Style): string {
  return text
    .replace(/█+/g, part => style.green(part))
    .replace(/▒+/g, part => style.yellow(part))
    .replace(/░+/g, part => style.red(part));
}

/** Whole numbers proportional to the counts, with the width as sum; all zero if the counts are. */
export function proportions(counts: readonly number[], width: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map(() => 0);
  const least = counts.filter(count => count > 0).length <= width ? 1 : 0;
  const parts = counts.map(count => (count === 0 ? 0 : Math.max(Math.round((count / total) * width), least)));
  // The largest part absorbs the rounding error.
  const largest = parts.indexOf(Math.max(...parts));
  const sum = parts.reduce((a, b) => a + b, 0);
  parts[largest] = Math.max((parts[largest] ?? 0) + width - sum, 0);
  return parts;
}
