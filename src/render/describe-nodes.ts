/** The nodes of a pool in `describe`; of many, those with problems first. */
import { activeMaintenance, countMaintenance, isOverdue } from '../nodepool/maintenance.ts';
import { membershipSelector, quotedSelector } from '../nodepool/selector.ts';
import type { NodePool } from '../nodepool/types.ts';
import type { DescribedNode } from '../operations/describe.ts';
import { betweenPools, nodeStatusText, resourceCell, stateCell } from './cells.ts';
import { renderGrid } from './grid.ts';
import { maintenanceLine } from './maintenance.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import type { Cell } from './table.ts';
import { formatAge } from './time.ts';

const MAX_SHOWN = 50;
const COLUMNS = ['Name', 'Status', 'CPU', 'Memory', 'Pods', 'State', 'Age'];

/** @param nodes sorted by name */
export function nodesSection(pool: NodePool, nodes: DescribedNode[], now: Date, style: Style): string[] {
  if (nodes.length === 0) return [`Nodes:  ${countsText(nodes, now)}`];
  const many = nodes.length > MAX_SHOWN;
  const shown = many ? nodes.toSorted((a, b) => urgency(b) - urgency(a)).slice(0, MAX_SHOWN) : nodes;
  const rows = shown.map(described => row(described, now, style));
  return [
    `Nodes:  ${countsText(nodes, now)}`,
    renderGrid(COLUMNS, rows),
    ...(many ? [moreText(pool, nodes.length - MAX_SHOWN)] : []),
    ...maintenanceSection(nodes, now, style),
  ];
}

/** Overdue ones first. */
function maintenanceSection(nodes: DescribedNode[], now: Date, style: Style): string[] {
  const noted = nodes.flatMap(({ node }) => {
    const text = maintenanceLine(node, now);
    if (text === undefined) return [];
    const maintenance = activeMaintenance(node);
    return [{ name: node.name, text, late: maintenance !== undefined && isOverdue(maintenance, now) }];
  });
  if (noted.length === 0) return [];
  const shown = noted.toSorted((a, b) => Number(b.late) - Number(a.late)).slice(0, MAX_SHOWN);
  const rows = shown.map(({ name, text, late }): Cell[] => [name, late ? { text, paint: style.red } : text]);
  const more = noted.length - shown.length;
  return ['Maintenance:', renderGrid(['Node', 'Owner'], rows), ...(more > 0 ? [`  … and ${more} more`] : [])];
}

/** `5, 4 ready, 1 unschedulable, 1 in maintenance, 2 to be changed, 1 to be cleaned, 1 held by another pool` */
function countsText(nodes: DescribedNode[], now: Date): string {
  const members = nodes.filter(({ membership }) => membership.kind === 'member');
  const count = (from: DescribedNode[], what: (described: DescribedNode) => boolean) => from.filter(what).length;
  const { active, overdue } = countMaintenance(
    members.map(({ node }) => node),
    now,
  );
  const others = [
    [count(members, ({ node }) => node.unschedulable), 'unschedulable'],
    [active, overdue === 0 ? 'in maintenance' : `in maintenance (${overdue} overdue)`],
    [count(members, ({ changes, drain }) => changes.length > 0 || drain !== undefined), 'to be changed'],
    [count(nodes, ({ membership }) => membership.kind === 'leaving'), 'to be cleaned'],
    [count(nodes, ({ membership }) => membership.kind === 'conflict'), 'held by another pool'],
  ] as const;
  return [
    String(members.length),
    `${count(members, ({ node }) => node.ready)} ready`,
    ...others.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : [])),
  ].join(', ');
}

function moreText(pool: NodePool, more: number): string {
  const selector = sanitizeLine(quotedSelector(membershipSelector(pool)));
  return `  … and ${more} more; list them all with: kubectl get nodes -l ${selector}`;
}

function row({ node, changes, drain, circle, membership }: DescribedNode, now: Date, style: Style): Cell[] {
  const status = nodeStatusText(node);
  return [
    node.name,
    node.ready && !node.unschedulable ? status : { text: status, paint: style.yellow },
    resourceCell(node.allocatable, 'cpu'),
    resourceCell(node.allocatable, 'memory'),
    resourceCell(node.allocatable, 'pods'),
    circle
      ? { text: betweenPools(circle), paint: style.red }
      : stateCell(membership, changes.length + (drain?.changes.length ?? 0), style, drain?.hasBegun),
    formatAge(node.creationTimestamp, now),
  ];
}

function urgency({ node, changes, drain, circle, membership }: DescribedNode): number {
  if (circle !== undefined || membership.kind === 'conflict') return 4;
  if (membership.kind === 'leaving') return 3;
  if (changes.length > 0 || drain !== undefined) return 2;
  return node.ready && !node.unschedulable ? 0 : 1;
}
