/** The table of `kubectl nodepool top`: a line for each resource of a pool or node. No cell has a space in it. */

import { formatQuantity, type Quantity } from '../nodepool/quantity.ts';
import { type Figures, percentOf, type Tally } from '../nodepool/resource-usage.ts';
import type { Top } from '../operations/top.ts';
import { type BarGlyphs, bar } from './bar.ts';
import { NONE, nodeStatusCell, oneWord, shorten } from './cells.ts';
import { displayQuantity } from './quantity.ts';
import type { Style } from './style.ts';
import { type Cell, DESCRIBE, renderTable, takenWidth } from './table.ts';

export interface TopTableOptions {
  headers: boolean;
  /** Also shows extended resources that a pool or a node does not have. */
  everyResource: boolean;
  /** Bars fill the rest of a terminal of that width; undefined without a terminal. */
  bars: { columns: number; glyphs: BarGlyphs } | undefined;
}

/** Width of a bar; there are no narrower ones. */
const MAX_BAR_WIDTH = 20;
const NARROWEST_BAR = 5;
/** Characters of an amount: a huge quantity has thousands of digits. */
const MAX_AMOUNT_WIDTH = 24;
/** Percent of allocatable. */
const [FILLING, FULL] = [80, 95];

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
export function renderTopPools({ pools, total, usage }: Top, options: TopTableOptions, style: Style): string {
  const lines = pools.flatMap(({ pool, tally }) => linesOf([pool ?? NONE, nodesCell(tally)], tally, options));
  const sum = ['TOTAL', nodesCell(total)].map(text => ({ text, paint: style.bold }));
  const all = pools.length > 1 ? [...lines, ...linesOf(sum, total, options)] : lines;
  return tableOf(['POOL', 'NODES'], all, usage, options, style);
}

/** Nodes, then the total of all. */
export function renderTopNodes({ nodes, total, usage }: Top, options: TopTableOptions, style: Style): string {
  const lines = nodes.flatMap(row =>
    linesOf([row.node.name, row.pool ?? NONE, nodeStatusCell(row.node, style)], row.tally, options),
  );
  const sum = ['TOTAL', NONE, nodesCell(total)].map(text => ({ text, paint: style.bold }));
  const all = nodes.length > 1 ? [...lines, ...linesOf(sum, total, options)] : lines;
  return tableOf(['NODE', 'POOL', 'STATUS'], all, usage, options, style);
}

/** Schedulable nodes of all nodes. */
function nodesCell({ schedulable, nodes }: Tally): string {
  return `${schedulable}/${nodes}`;
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

function tableOf(head: string[], lines: Line[], usage: Top['usage'], options: TopTableOptions, style: Style): string {
  const columns = columnsOf(usage, style);
  const header = [...head, 'RESOURCE', ...columns.map(column => column.header)];
  const rows = lines.map(({ head: first, resource, figures }) => [
    ...first,
    oneWord(resource),
    ...columns.map(({ cell }) => cell(figures, resource)),
  ]);
  const table: Cell[][] = options.headers ? [header, ...rows] : rows;
  const { bars } = options;
  const room = bars === undefined ? 0 : Math.min(bars.columns - takenWidth(table, DESCRIBE), MAX_BAR_WIDTH);
  if (bars === undefined || usage === undefined || room < NARROWEST_BAR) return renderTable(table, DESCRIBE);
  for (const [at, { figures }] of lines.entries()) rows[at]?.push(barCell(figures, room, bars.glyphs, style));
  return renderTable(table, DESCRIBE);
}

function barCell(figures: Figures, width: number, glyphs: BarGlyphs, style: Style): Cell {
  const percent = percentOf(figures.requested, figures);
  return percent === undefined ? '' : { text: bar(percent / 100, width, glyphs), paint: fillPaint(percent, style) };
}

function columnsOf(usage: Top['usage'], style: Style): Column[] {
  const allocatable: Column = { header: 'ALLOC', cell: ({ allocatable }, resource) => amount(allocatable, resource) };
  if (usage === undefined) return [allocatable];
  const used: Column[] = [
    { header: 'USED', cell: ({ used }, resource) => amount(used, resource) },
    { header: 'USED%', cell: figures => percentCell(figures.used, figures, style) },
  ];
  return [
    allocatable,
    { header: 'REQUESTED', cell: ({ requested }, resource) => amount(requested, resource) },
    { header: 'REQ%', cell: figures => percentCell(figures.requested, figures, style) },
    { header: 'LIMITS', cell: ({ limits }, resource) => amount(limits, resource) },
    ...(usage.kind === 'served' ? used : []),
    { header: 'FREE', cell: ({ free }, resource) => amount(free, resource) },
  ];
}

function amount(quantity: Quantity | undefined, resource: string): string {
  return quantity === undefined ? NONE : shorten(displayQuantity(resource, formatQuantity(quantity)), MAX_AMOUNT_WIDTH);
}

/** Truncated to whole percents, as by `kubectl describe node`. */
function percentCell(quantity: Quantity | undefined, figures: Figures, style: Style): Cell {
  const percent = percentOf(quantity, figures);
  return percent === undefined ? NONE : { text: `${Math.trunc(percent)}%`, paint: fillPaint(percent, style) };
}

function fillPaint(percent: number, style: Style): (text: string) => string {
  if (percent >= FULL) return style.red;
  return percent >= FILLING ? style.yellow : style.green;
}
