/** The table of `kubectl nodepool nodes`. No cell has a space in it: `awk '{print $3}'` is the pool. */

import { own } from '../nodepool/json.ts';
import type { Change, FieldSetter } from '../nodepool/plan.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import type { PoolNode } from '../operations/nodes.ts';
import {
  betweenPools,
  labelHeader,
  listText,
  NONE,
  nodeStatusText,
  pairs,
  resourceCell,
  taintsText,
  withoutSpaces,
} from './cells.ts';
import type { Style } from './style.ts';
import { type Cell, tablePrinter } from './table.ts';
import { formatAge } from './time.ts';

export interface NodesTableOptions {
  wide: boolean;
  headers: boolean;
  /** Labels with a column each. */
  labelColumns?: readonly string[];
}

const HEADER = ['NAME', 'STATUS', 'POOL', 'TAINTS', 'APPLIED', 'DRIFT', 'AGE'];
const WIDE_HEADER = ['CPU', 'MEMORY', 'PODS', 'ALSO-MATCHED-BY', 'DRIFT-SET-BY'];

/** Items beyond this many characters are counted; -o wide lists all. */
const LIST_WIDTH = 32;

/** The first call gives the table, later ones more rows: a watch prints nodes again as they change. */
export function nodesPrinter(
  { wide, headers, labelColumns = [] }: NodesTableOptions,
  style: Style,
): (nodes: PoolNode[], now: Date) => string {
  const width = wide ? Infinity : LIST_WIDTH;
  const header = [...HEADER, ...(wide ? WIDE_HEADER : []), ...labelColumns.map(labelHeader)];
  const render = tablePrinter(headers ? header : undefined);
  const rowOf = (node: PoolNode, now: Date) => [
    ...row(node, width, now, style),
    ...(wide ? wideRow(node, now) : []),
    ...labelColumns.map(label => own(node.node.labels, label) || NONE),
  ];
  return (nodes, now) => render(nodes.map(node => rowOf(node, now)));
}

function row(
  { node, pool, leaving, applied, changes, circle }: PoolNode,
  width: number,
  now: Date,
  style: Style,
): Cell[] {
  const status = nodeStatusText(node);
  const isWell = node.ready && !node.unschedulable;
  return [
    node.name,
    isWell ? status : { text: status, paint: node.ready ? style.yellow : style.red },
    leaving ? { text: `${pool},Leaving`, paint: style.yellow } : (pool ?? NONE),
    taintsText(node.taints, width),
    listText([...pairs(applied.labels), ...applied.taints.map(formatTaint)], width),
    circle ? { text: betweenPools(circle), paint: style.red } : driftCell(changes, width, style),
    formatAge(node.creationTimestamp, now),
  ];
}

function driftCell(changes: Change[], width: number, style: Style): Cell {
  const text = listText(changes.map(changeText), width);
  return changes.length === 0 ? text : { text, paint: style.yellow };
}

function wideRow({ node, conflicting, changes }: PoolNode, now: Date): Cell[] {
  const resources = ['cpu', 'memory', 'pods'].map(resource => resourceCell(node.allocatable, resource));
  const setters = changes.flatMap(({ setBy }) => (setBy === undefined ? [] : setterText(setBy, now)));
  return [...resources, conflicting.join(',') || NONE, listText([...new Set(setters)], Infinity)];
}

/** `kubectl-label(3m)`: who set a value that differs, and how long ago. */
function setterText({ manager, time }: FieldSetter, now: Date): string {
  return withoutSpaces(time === undefined ? manager : `${manager}(${formatAge(time, now)})`);
}

/** A change of the next reconcile: `+tier=gold` adds, `~zone=b` changes, `-old:NoSchedule` removes. */
function changeText({ kind, key, effect, from, to }: Change): string {
  if (to === undefined) return `-${key}${effect === undefined ? '' : `:${effect}`}`;
  const sign = from === undefined ? '+' : '~';
  return kind === 'taint' && effect !== undefined
    ? `${sign}${formatTaint({ key, value: to, effect })}`
    : `${sign}${key}=${to}`;
}
