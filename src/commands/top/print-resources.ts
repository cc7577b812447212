/** The tables of `kubectl nodepool top --by resource`: a line for each resource of a pool or node. */

import { type Figures, percentOf, type Tally } from '../../nodepool/quantity/resource-usage.ts';
import { bar } from '../../print/bar.ts';
import { NONE, nodeStatusCell, oneWord } from '../../print/cells.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, DESCRIBE, renderTable, takenWidth } from '../../print/table.ts';
import type { Top } from '../shared/top/top.ts';
import { amount, fillPaint, nodesCell, percentCell, type TopTableOptions } from '../shared/top/top-cells.ts';

/** Width of a bar; there are no narrower ones. */
const MAX_BAR_WIDTH = 20;
const NARROWEST_BAR = 5;

interface Column {
  header: string;
  cell: (figures: Figures, resource: string) => Cell;
}

/** A row: its first cells, and the figures for the other columns. */
interface Line {
  head: Cell[];
  resource: string;
  figures: Figures;
}

/** Pools, then their total. */
export function renderPoolResources({ pools, total, usage }: Top, options: TopTableOptions, style: Style): string {
  const lines = pools.flatMap(({ pool, tally }) => linesOf([pool ?? NONE, nodesCell(tally)], tally, options));
  const sum = ['TOTAL', nodesCell(total)].map(text => ({ text, paint: style.bold }));
  const all = pools.length > 1 ? [...lines, ...linesOf(sum, total, options)] : lines;
  return tableOf(['POOL', 'NODES'], all, columnsOf(usage, true, style), options, style);
}

/** Nodes, then the total of all. */
export function renderNodeResources({ nodes, total, usage }: Top, options: TopTableOptions, style: Style): string {
  const lines = nodes.flatMap(row =>
    linesOf([row.node.name, row.pool ?? NONE, nodeStatusCell(row.node, style)], row.tally, options),
  );
  const sum = ['TOTAL', NONE, nodesCell(total)].map(text => ({ text, paint: style.bold }));
  const all = nodes.length > 1 ? [...lines, ...linesOf(sum, total, options)] : lines;
  return tableOf(['NODE', 'POOL', 'STATUS'], all, columnsOf(usage, false, style), options, style);
}

function linesOf(head: Cell[], { figures }: Tally, { everyResource }: TopTableOptions): Line[] {
  return [...figures]
    .filter(([resource, its]) => everyResource || !isNothing(resource, its))
    .map(([resource, its]) => ({ head, resource, figures: its }));
}

/** An extended resource that is neither allocatable nor requested. */
function isNothing(resource: string, { allocatable, requested }: Figures): boolean {
  return resource.includes('/') && allocatable.unscaled === 0n && (requested?.unscaled ?? 0n) === 0n;
}

function tableOf(
  head: string[],
  lines: Line[],
  columns: readonly Column[],
  { headers, terminal }: TopTableOptions,
  style: Style,
): string {
  const header = [...head, 'RESOURCE', ...columns.map(column => column.header)];
  const rows = lines.map(({ head: first, resource, figures }) => [
    ...first,
    oneWord(resource),
    ...columns.map(({ cell }) => cell(figures, resource)),
  ]);
  const table: Cell[][] = headers ? [header, ...rows] : rows;
  const room = terminal === undefined ? 0 : Math.min(terminal.columns - takenWidth(table, DESCRIBE), MAX_BAR_WIDTH);
  if (terminal === undefined || room < NARROWEST_BAR) return renderTable(table, DESCRIBE);
  for (const [at, { figures }] of lines.entries()) {
    const percent = percentOf(figures.requested, figures);
    if (percent === undefined) continue;
    rows[at]?.push({ text: bar(percent / 100, room, terminal.glyphs), paint: fillPaint(percent, style) });
  }
  return renderTable(table, DESCRIBE);
}

function columnsOf(usage: Top['usage'], isOfPools: boolean, style: Style): Column[] {
  const allocatable: Column = { header: 'ALLOC', cell: ({ allocatable }, resource) => amount(allocatable, resource) };
  if (usage === undefined) return [allocatable];
  const used: Column[] = [
    { header: 'USED', cell: ({ used }, resource) => amount(used, resource) },
    { header: 'USED%', cell: figures => percentCell(figures.used, figures, style) },
  ];
  const maxFree: Column = { header: 'FIT', cell: (figures, resource) => amount(figures.maxFree, resource) };
  return [
    allocatable,
    { header: 'REQUESTED', cell: ({ requested }, resource) => amount(requested, resource) },
    { header: 'REQ%', cell: figures => percentCell(figures.requested, figures, style) },
    { header: 'LIMITS', cell: ({ limits }, resource) => amount(limits, resource) },
    ...(usage.kind === 'served' ? used : []),
    { header: 'FREE', cell: ({ free }, resource) => amount(free, resource) },
    // Of one node it is FREE.
    ...(isOfPools ? [maxFree] : []),
  ];
}
