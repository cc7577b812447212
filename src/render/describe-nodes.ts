/** The nodes of a pool in `describe`; of many, those with problems first. */
import { membershipSelector, quotedSelector } from '../nodepool/selector.ts';
import type { NodePool } from '../nodepool/types.ts';
import type { DescribedNode } from '../operations/describe.ts';
import { betweenPools, nodeStatusText, resourceCell, stateCell } from './cells.ts';
import { renderGrid } from './grid.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import type { Cell } from './table.ts';
import { formatAge } from './time.ts';

const MAX_SHOWN = 50;
const COLUMNS = ['Name', 'Status', 'CPU', 'Memory', 'Pods', 'State', 'Age'];

/** @param nodes sorted by name */
export function nodesSection(pool: NodePool, nodes: DescribedNode[], now: Date, style: Style): string[] {
  if (nodes.length === 0) return [`Nodes:  ${countsText(nodes)}`];
  const many = nodes.length > MAX_SHOWN;
  const shown = many ? nodes.toSorted((a, b) => urgency(b) - urgency(a)).slice(0, MAX_SHOWN) : nodes;
  const rows = shown.map(described => row(described, now, style));
  return [
    `Nodes:  ${countsText(nodes)}`,
    renderGrid(COLUMNS, rows),
    ...(many ? [moreText(pool, nodes.length - MAX_SHOWN)] : []),
  ];
}

/** `5, 4 ready, 1 unschedulable, 2 to be changed, 1 to be cleaned, 1 held by another pool` */
function countsText(nodes: DescribedNode[]): string {
  const members = nodes.filter(({ membership }) => membership.kind === 'member');
  const count = (from: DescribedNode[], what: (described: DescribedNode) => boolean) => from.filter(what).length;
  const others = [
    [count(members, ({ node }) => node.unschedulable), 'unschedulable'],
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
