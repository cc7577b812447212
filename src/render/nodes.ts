/** The table of `kubectl nodepool nodes`. No cell has a space in it: `awk '{print $3}'` is the pool. */
import type { Change } from '../nodepool/plan.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import type { PoolNode } from '../operations/nodes.ts';
import { NONE, pairs, resourceCell } from './cells.ts';
import { printValue } from './printers.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import { type Cell, renderTable } from './table.ts';
import { formatAge } from './time.ts';

export interface NodesTableOptions {
  wide: boolean;
  headers: boolean;
  now: Date;
}

const COLUMNS = ['NAME', 'STATUS', 'POOL', 'TAINTS', 'APPLIED', 'DRIFT', 'AGE'];
const WIDE_COLUMNS = ['CPU', 'MEMORY', 'PODS', 'ALSO-MATCHED-BY'];

/** Lists beyond this many characters are counted; wide lists all. */
const LIST_WIDTH = 32;

export function renderNodes(nodes: PoolNode[], { wide, headers, now }: NodesTableOptions, style: Style): string {
  const width = wide ? Infinity : LIST_WIDTH;
  const rows = nodes.map(node =>
    wide ? [...row(node, width, now, style), ...wideRow(node)] : row(node, width, now, style),
  );
  return renderTable(wide ? [...COLUMNS, ...WIDE_COLUMNS] : COLUMNS, rows, { headers });
}

/** `node/NAME`, a line each. */
export function printNodeNames(nodes: PoolNode[]): string {
  return nodes.map(({ node }) => `node/${sanitizeLine(node.name)}`).join('\n');
}

/** `{"items": […]}` with what the table shows of each node, unabridged. */
export function printNodes(nodes: PoolNode[], format: 'json' | 'yaml'): string {
  const items = nodes.map(({ node, pool, leaving, applied, changes, losers }) => ({
    name: node.name,
    pool: pool ?? null,
    leaving,
    ready: node.ready,
    unschedulable: node.unschedulable,
    creationTimestamp: node.creationTimestamp,
    taints: node.taints,
    applied,
    changes,
    alsoMatchedBy: losers,
    allocatable: node.allocatable,
  }));
  return printValue({ items }, format);
}

function row({ node, pool, leaving, applied, changes }: PoolNode, width: number, now: Date, style: Style): Cell[] {
  const status = `${node.ready ? 'Ready' : 'NotReady'}${node.unschedulable ? ',SchedulingDisabled' : ''}`;
  const isWell = node.ready && !node.unschedulable;
  const drift = listText(changes.map(changeText), width);
  return [
    node.name,
    isWell ? status : { text: status, paint: node.ready ? style.yellow : style.red },
    leaving ? { text: `${pool},Leaving`, paint: style.yellow } : (pool ?? NONE),
    listText(node.taints.map(formatTaint), width),
    listText([...pairs(applied.labels), ...applied.taints.map(formatTaint)], width),
    changes.length === 0 ? drift : { text: drift, paint: style.yellow },
    formatAge(node.creationTimestamp, now),
  ];
}

function wideRow({ node, losers }: PoolNode): Cell[] {
  const resources = ['cpu', 'memory', 'pods'].map(resource => resourceCell(node.allocatable, resource));
  return [...resources, losers.join(',') || NONE];
}

/** What reconcile would do: `+tier=gold` sets, `~zone=b` changes, `-old:NoSchedule` takes away. */
function changeText({ kind, key, effect, from, to }: Change): string {
  if (to === undefined) return `-${key}${effect === undefined ? '' : `:${effect}`}`;
  const sign = from === undefined ? '+' : '~';
  return kind === 'taint' && effect !== undefined
    ? `${sign}${formatTaint({ key, value: to, effect })}`
    : `${sign}${key}=${to}`;
}

/** As many as fit, at least the first, and how many more: `a=b,+2`. */
function listText(texts: string[], width: number): string {
  const [first] = texts;
  if (first === undefined) return NONE;
  if (texts.length === 1) return first;
  let shown = first;
  for (let count = 1; count < texts.length; count++) {
    const next = `${shown},${texts[count]}`;
    const more = texts.length - count - 1;
    if (next.length + (more > 0 ? `,+${more}`.length : 0) > width) return `${shown},+${texts.length - count}`;
    shown = next;
  }
  return shown;
}
