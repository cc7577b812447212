/** The table of `kubectl nodepool nodes`. Cells contain no spaces, so that `awk '{print $3}'` prints the pool. */
import { type Io, terminalWidth as terminalWidthOf } from '../../cli/io.ts';
import { ownValue } from '../../nodepool/json.ts';
import type { Change, FieldSetter } from '../../nodepool/plan/plan.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import {
  annotationPairs,
  LIST_WIDTH,
  labelHeader,
  labelTexts,
  listText,
  NONE,
  nodeStatusCell,
  resourceCell,
  withoutSpaces,
} from '../../print/cells.ts';
import { type Column, fitColumns } from '../../print/fit-columns.ts';
import { documentOf, printValue } from '../../print/printers.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, tablePrinter } from '../../print/table.ts';
import { formatAge } from '../../print/time.ts';
import { cut } from '../../print/width.ts';
import { blockedItem } from '../../reconciler/plan/blocked.ts';
import { maintenanceCell, maintenanceItem } from '../shared/cordon/print-cordon.ts';
import type { PoolNode } from '../shared/pools/nodes.ts';

export interface NodesTableOptions {
  wide: boolean;
  headers: boolean;
  labelColumns?: readonly string[];
  /** The only pool whose nodes are listed; its column may be left out. */
  pool?: string | undefined;
  /** Fits the table to this terminal width. Undefined keeps every cell whole. */
  terminalWidth?: number | undefined;
  /** Nodes are printed again when they change; leaves room for a cordon. */
  isWatch?: boolean | undefined;
}

/** -o wide has every column uncut, even on a terminal. */
export function withTerminal(table: NodesTableOptions, io: Io): NodesTableOptions {
  return table.wide ? table : { ...table, terminalWidth: terminalWidthOf(io) };
}

/** What a cordon appends to STATUS. */
const CORDONED = ',SchedulingDisabled';

/** The first call returns the table, later calls return further rows: a watch prints changed nodes again. */
export function nodesPrinter(
  { wide, headers, labelColumns = [], pool, terminalWidth = Infinity, isWatch = false }: NodesTableOptions,
  style: Style,
): (nodes: PoolNode[], now: Date) => string {
  const allFor = (nodes: PoolNode[]): Column<PoolNode>[] => {
    const most = wide ? Infinity : LIST_WIDTH;
    const isMaintained = wide || nodes.some(({ node }) => node.maintenance !== undefined);
    const isSet = wide || nodes.some(({ changes }) => changes.some(({ setBy }) => setBy !== undefined));
    const notes = [
      ...(isMaintained ? [maintenanceColumn(terminalWidth === Infinity ? Infinity : most, style)] : []),
      ...(isSet ? [setterColumn] : []),
    ];
    return [
      ...columnsOf(most, style, pool, notes),
      ...(wide ? wideColumns() : []),
      ...notes,
      ...labelColumns.map(labelColumn),
    ];
  };
  let table: { columns: Column<PoolNode>[]; render: (rows: Cell[][]) => string } | undefined;
  return (nodes, now) => {
    if (table === undefined) {
      const reserved = isWatch && !nodes.some(({ node }) => node.unschedulable) ? CORDONED.length : 0;
      const all = allFor(nodes);
      const columns = terminalWidth === Infinity ? all : fitColumns(all, nodes, now, terminalWidth - reserved);
      table = { columns, render: tablePrinter(headers ? columns.map(({ header }) => header) : undefined) };
    }
    const { columns, render } = table;
    return render(nodes.map(node => columns.map(({ cell }) => cell(node, now, Infinity))));
  };
}

function columnsOf(
  most: number,
  style: Style,
  known: string | undefined,
  notes: readonly Column<PoolNode>[],
): Column<PoolNode>[] {
  const list = (texts: string[], width: number) => cut(listText(texts, Math.min(width, most)), width);
  return [
    // Notes are more useful than uncut names.
    { header: 'NAME', cell: ({ node }) => node.name, cutFrom: notes.length > 0 ? Infinity : 0, isName: true },
    { header: 'STATUS', cell: ({ node }) => nodeStatusCell(node, style) },
    {
      header: 'POOL',
      known,
      cell: ({ pool, leaving }) => (leaving ? { text: `${pool},Leaving`, paint: style.yellow } : (pool ?? NONE)),
      rank: 1,
      cutFrom: 1,
      isName: true,
    },
    {
      header: 'TAINTS',
      cell: ({ node }, _, width) => list(node.taints.map(formatTaint), width),
      rank: 4,
      cutFrom: Infinity,
    },
    {
      header: 'APPLIED',
      cell: ({ applied }, _, width) => list(appliedTexts(applied), width),
      rank: 5,
      cutFrom: Infinity,
    },
    {
      header: 'DUE',
      cell: ({ changes, blocked }, _, width) => {
        if (blocked) return { text: cut(blocked.word, width), paint: style.red };
        const text = list(changes.map(changeText), width);
        return changes.length === 0 ? text : { text, paint: style.yellow };
      },
      cutFrom: 2,
    },
    { header: 'AGE', cell: ({ node }, now) => formatAge(node.creationTimestamp, now), rank: 3 },
  ];
}

function wideColumns(): Column<PoolNode>[] {
  const resources = ['cpu', 'memory', 'pods'].map(
    (resource): Column<PoolNode> => ({
      header: resource.toUpperCase(),
      cell: ({ node }) => resourceCell(node.allocatable, resource),
    }),
  );
  return [...resources, { header: 'ALSO-MATCHED-BY', cell: ({ conflicting }) => conflicting.join(',') || NONE }];
}

function maintenanceColumn(most: number, style: Style): Column<PoolNode> {
  return {
    header: 'MAINTENANCE',
    cell: ({ node }, now, width) => maintenanceCell(node, now, Math.min(width, most), style),
    rank: 2,
    cutFrom: 2,
  };
}

const setterColumn: Column<PoolNode> = {
  header: 'SET-BY',
  cell: ({ changes }, now, width) => {
    const setters = changes.flatMap(({ setBy }) => (setBy === undefined ? [] : setterText(setBy, now)));
    return cut(listText([...new Set(setters)], width), width);
  },
  rank: 2,
  cutFrom: Infinity,
};

function labelColumn(label: string): Column<PoolNode> {
  return { header: labelHeader(label), cell: ({ node }) => ownValue(node.labels, label) || NONE, cutFrom: 0 };
}

/** `kubectl-label(3m)`: who set a value that differs, and how long ago. */
function setterText({ manager, time }: FieldSetter, now: Date): string {
  return withoutSpaces(time === undefined ? manager : `${manager}(${formatAge(time, now)})`);
}

function appliedTexts({ labels, taints, annotations }: PoolNode['applied']): string[] {
  const theirs = annotationPairs(annotations).map(withoutSpaces);
  return [...labelTexts(labels), ...taints.map(formatTaint), ...theirs];
}

/** A pending change: `+tier=gold` adds, `~zone=b` changes, `-old:NoSchedule` removes. */
function changeText({ kind, key, effect, from, to }: Change): string {
  if (to === undefined) return `-${key}${effect === undefined ? '' : `:${effect}`}`;
  const sign = from === undefined ? '+' : '~';
  if (kind === 'annotation')
    return (
      sign +
      annotationPairs({ [key]: to })
        .map(withoutSpaces)
        .join()
    );
  return kind === 'taint' && effect !== undefined
    ? `${sign}${formatTaint({ key, value: to, effect })}`
    : `${sign}${key}=${to}`;
}

/** `node/NAME`, one per line. */
export function printNodeNames(nodes: PoolNode[]): string {
  return nodes.map(({ node }) => `node/${sanitizeLine(node.name)}`).join('\n');
}

/** Without the last newline. */
export function printNodes(nodes: PoolNode[], format: 'json' | 'yaml', now: Date): string {
  return printValue(nodesDocument(nodes, now), format);
}

export function nodesDocument(nodes: PoolNode[], now: Date): Record<string, unknown> {
  return documentOf('PoolNodeList', { items: nodes.map(node => nodeItem(node, now)) });
}

export function nodeItem(
  { node, pool, leaving, applied, changes, blocked, conflicting }: PoolNode,
  now: Date,
): Record<string, unknown> {
  const { name, labels, creationTimestamp, ready, unschedulable, taints, allocatable } = node;
  return {
    name,
    // Same paths as in a Kubernetes Node.
    metadata: { name, labels, creationTimestamp },
    pool: pool ?? null,
    leaving,
    ready,
    unschedulable,
    maintenance: maintenanceItem(node, now),
    creationTimestamp,
    taints,
    applied,
    changes,
    blocked: blocked === undefined ? null : blockedItem(blocked),
    alsoMatchedBy: conflicting,
    allocatable,
  };
}
