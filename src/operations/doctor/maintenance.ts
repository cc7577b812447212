/** Maintenances that are past their end, and annotations of one that do not hold any more. */
import {
  isOverdue,
  type MaintenanceState,
  maintenanceOf,
  maintenanceText,
  ownerText,
} from '../../nodepool/maintenance.ts';
import { plural } from '../../nodepool/plural.ts';
import { MAINTENANCE_ANNOTATION, type Node } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { type Finding, named, ok, warning } from './check.ts';

/** In the order of the details. */
const KINDS = ['overdue', 'stale', 'unreadable', 'active'] as const;

interface Group {
  kind: (typeof KINDS)[number];
  pool: string | undefined;
  state: MaintenanceState;
  nodes: string[];
}

/** Nodes that a command line names; of more, it leaves that to the user. */
const MAX_NODES = 10;

/** @param nodes those of no pool, too */
export function checkMaintenance(nodes: readonly Node[], state: ClusterState, now: Date): Finding {
  const groups = groupsOf(nodes, state, now);
  const count = (kind: Group['kind']) =>
    groups.filter(group => group.kind === kind).reduce((sum, group) => sum + group.nodes.length, 0);
  const details = groups.map(group => `${detailOf(group, now)}${stepOf(group)}`);
  const [overdue, broken, active] = [count('overdue'), count('stale') + count('unreadable'), count('active')];
  if (overdue + broken === 0) {
    const are = active === 1 ? 'is' : 'are';
    const message = active === 0 ? 'no node is in maintenance' : `${plural(active, 'node')} ${are} in maintenance`;
    return ok(message, details);
  }
  const message = [
    ...(overdue > 0 ? [`maintenance is overdue on ${plural(overdue, 'node')}`] : []),
    ...(broken > 0 ? [`${plural(broken, 'node')} ${broken === 1 ? 'has' : 'have'} a stale annotation of one`] : []),
  ].join('; ');
  return warning(message, 'ask the owners, and end what is over: each line says how', details);
}

function groupsOf(nodes: readonly Node[], cluster: ClusterState, now: Date): Group[] {
  const groups = new Map<string, Group>();
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
  const rank = ({ kind }: Group) => KINDS.indexOf(kind);
  return [...groups.values()].toSorted((a, b) => rank(a) - rank(b) || (endOf(a) < endOf(b) ? -1 : 1));
}

/** The earliest end first. */
function endOf({ state }: Group): string {
  if (state.kind === 'unreadable' || state.maintenance.until === undefined) return '\uffff';
  return new Date(state.maintenance.until).toISOString();
}

function detailOf({ kind, pool, state, nodes }: Group, now: Date): string {
  const where = `${pool === undefined ? '' : `${pool}: `}${plural(nodes.length, 'node')}: ${named(nodes)}`;
  if (state.kind === 'unreadable') return `${where}: the annotation ${MAINTENANCE_ANNOTATION} cannot be read`;
  if (state.kind === 'active') return `${where}: ${maintenanceText(state.maintenance, now)}`;
  const why = state.why === 'schedulable' ? 'made schedulable by others since' : 'recreated since';
  return `${where}: ${kind}, ${why}: ${ownerText(state.maintenance.owner)} since ${state.maintenance.since}`;
}

/** What ends it on these nodes. Others of the pool, and a node whose annotation does not hold, may be cordoned for another reason. */
function stepOf({ kind, pool, state, nodes }: Group): string {
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
