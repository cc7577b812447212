/** The tables of `kubectl nodepool top`: a line for each pool, node or pod. Cells contain no spaces. */
import type { NoUsage, PodUsage } from '../../kube/resources/pods.ts';
import { ownValue } from '../../nodepool/json.ts';
import { percentOf, type ResourceFigures, type ResourceTotals } from '../../nodepool/quantity/resource-usage.ts';
import type { Node } from '../../nodepool/types.ts';
import { bar } from '../../print/bar.ts';
import { labelHeader, listText, NONE, nodeStatusCell, oneWord, resourceHeaders } from '../../print/cells.ts';
import { type Column as FittedColumn, fittedRows } from '../../print/fit-columns.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, DESCRIBE, renderTable, safeText, takenWidth } from '../../print/table.ts';
import type { TopResult } from '../shared/top/top.ts';
import { amount, fillPaint, nodesCell, percentCell, podsCell, type TopTableOptions } from '../shared/top/top-cells.ts';

interface Column extends Omit<FittedColumn<number>, 'cell'> {
  cells: Cell[];
}

/** A column for a figure of a resource. */
interface FigureColumn {
  /** Follows the resource's name in the header. */
  suffix: string;
  rank: number;
  cell: (figures: ResourceFigures, resource: string) => Cell;
  /** Only for resources that metrics.k8s.io reports. */
  isUsage?: boolean;
}

/** Beyond this many characters, further label values are only counted. */
const MAX_LIST_WIDTH = 40;

const METERED = ['cpu', 'memory'];
/** The rank of a column that is the same for all nodes. */
const SAME = 8;

/** Pools, then their total. */
export function renderTopPools(
  { pools, total, usage, resources }: TopResult,
  options: TopTableOptions,
  style: Style,
): string {
  const tallies = pools.map(({ tally }) => tally);
  const names: Cell[] = pools.map(({ pool }) => pool ?? NONE);
  const all = pools.length > 1 ? [...tallies, total] : tallies;
  const sum: Cell[] = pools.length > 1 ? [{ text: 'TOTAL', paint: style.bold }] : [];
  const hasLabels = options.labelColumns !== undefined && options.labelColumns.length > 0;
  const columns = [
    { header: 'POOL', cells: [...names, ...sum], cutFrom: 1, isName: true },
    { header: 'NODES', cells: all.map(nodesCell), rank: 2 },
    ...resourceColumns(all, resources, measuresOf(usage, true, style, hasLabels), usage !== undefined),
    ...labelColumns(
      options,
      pools.map(({ members }) => members),
      all.length,
    ),
  ];
  return tableOf(columns, options);
}

/** Nodes, then their total. */
export function renderTopNodes(
  { nodes, total, usage, resources }: TopResult,
  options: TopTableOptions,
  style: Style,
): string {
  const hasSum = nodes.length > 1;
  const tallies = nodes.map(({ tally }) => tally);
  const sum = (text: string): Cell[] => (hasSum ? [{ text, paint: style.bold }] : []);
  const pools = nodes.map(({ pool }) => pool ?? NONE);
  const statuses = nodes.map(({ node }) => nodeStatusCell(node, style));
  const areSame = (cells: Cell[]) => new Set(cells.map(safeText)).size < 2;
  const columns = [
    { header: 'NODE', cells: [...nodes.map(({ node }) => node.name), ...sum('TOTAL')], cutFrom: 3, isName: true },
    { header: 'POOL', cells: [...pools, ...sum(NONE)], rank: areSame(pools) ? SAME : 2, cutFrom: 2, isName: true },
    {
      header: 'STATUS',
      cells: [...statuses, ...sum(nodesCell(total))],
      rank: areSame(statuses) ? SAME : 1,
      cutFrom: 3,
    },
    ...resourceColumns(
      hasSum ? [...tallies, total] : tallies,
      resources,
      measuresOf(usage, false, style),
      usage !== undefined,
    ),
    ...labelColumns(
      options,
      nodes.map(({ node }) => [node]),
      tallies.length + (hasSum ? 1 : 0),
    ),
  ];
  return tableOf(columns, options);
}

/** Pods, without a total. */
export function renderTopPods(
  { pods, pools, podUsage, resources }: TopResult,
  options: TopTableOptions,
  style: Style,
): string {
  const byName = Map.groupBy(
    pools.flatMap(({ members }) => members),
    ({ name }) => name,
  );
  const columns = [
    { header: 'POOL', cells: pods.map(({ pool }) => pool ?? NONE), rank: 7 },
    { header: 'NODE', cells: pods.map(({ pod }) => pod.node), rank: 1, cutFrom: 1, isName: true },
    { header: 'NAMESPACE', cells: pods.map(({ pod }) => pod.namespace), cutFrom: 0 },
    { header: 'POD', cells: pods.map(({ pod }) => pod.name), cutFrom: 0, isName: true },
    ...resourceColumns(
      pods.map(({ tally }) => tally),
      resources.filter(name => name !== 'pods'),
      podMeasures(podUsage, style),
      true,
    ),
    ...labelColumns(
      options,
      pods.map(({ pod }) => byName.get(pod.node) ?? []),
      pods.length,
    ),
  ];
  return tableOf(columns, options);
}

/** Like kubectl get -L. For several nodes, each value once. @param rows the nodes of each row; a total has none */
function labelColumns(
  { labelColumns: labels = [] }: TopTableOptions,
  rows: readonly (readonly Node[])[],
  count: number,
): Column[] {
  const valuesOf = (nodes: readonly Node[], label: string) =>
    [...new Set(nodes.flatMap(node => ownValue(node.labels, label) || []))].toSorted();
  return labels.map(label => ({
    header: labelHeader(label),
    cells: Array.from({ length: count }, (_, row) => listText(valuesOf(rows[row] ?? [], label), MAX_LIST_WIDTH)),
  }));
}

function measuresOf(usage: TopResult['usage'], isOfPools: boolean, style: Style, hasLabels = false): FigureColumn[] {
  if (usage === undefined) {
    return [{ suffix: '', rank: 0, cell: ({ allocatable }, resource) => amount(allocatable, resource) }];
  }
  const used: FigureColumn = {
    suffix: '-USED%',
    rank: 6,
    cell: figures => percentCell(figures, 'used', style),
    isUsage: true,
  };
  // The last columns to be left out show what still fits: for a pool on one node, for a node everything free.
  const maxFree: FigureColumn = {
    suffix: '-FIT',
    // With label columns there is seldom room for these, NODES and REQ%, which say more about a pool.
    rank: hasLabels ? 3 : 0,
    cell: (figures, resource) => amount(figures.maxFree, resource),
  };
  return [
    { suffix: '-REQ', rank: 7, cell: ({ requested }, resource) => amount(requested, resource) },
    { suffix: '-REQ%', rank: isOfPools ? 1 : 3, cell: figures => percentCell(figures, 'requested', style) },
    ...(usage.kind === 'served' ? [used] : []),
    { suffix: '-FREE', rank: isOfPools ? 5 : 0, cell: ({ free }, resource) => amount(free, resource) },
    // For one node it equals FREE.
    ...(isOfPools ? [maxFree] : []),
  ];
}

function podMeasures(usage: PodUsage | NoUsage | undefined, style: Style): FigureColumn[] {
  const used: FigureColumn[] = [
    { suffix: '-USED', rank: 2, cell: ({ used }, resource) => amount(used, resource), isUsage: true },
    { suffix: '-USED%', rank: 6, cell: figures => percentCell(figures, 'used', style), isUsage: true },
  ];
  return [
    { suffix: '-REQ', rank: 0, cell: ({ requested }, resource) => amount(requested, resource) },
    { suffix: '-REQ%', rank: 5, cell: figures => percentCell(figures, 'requested', style) },
    ...(usage?.kind === 'served' ? used : []),
  ];
}

/** @param seesPods if false, PODS is the number of pods that nodes can run */
function resourceColumns(
  tallies: readonly Pick<ResourceTotals, 'figures'>[],
  resources: readonly string[],
  measures: readonly FigureColumn[],
  seesPods: boolean,
): Column[] {
  const headers = resourceHeaders(resources);
  const columnOf = (resource: string, header: string, { rank, cell }: Omit<FigureColumn, 'suffix'>): Column => {
    const cells = tallies.map(({ figures }): Cell => {
      const its = figures.get(resource);
      return its === undefined ? NONE : cell(its, resource);
    });
    return { header, cells, rank, known: '0' };
  };
  return resources.flatMap(resource => {
    const header = headers.get(resource) ?? resource;
    if (resource === 'pods' && seesPods) return [columnOf(resource, header, { rank: 4, cell: podsCell })];
    const its = METERED.includes(resource) ? measures : measures.filter(({ isUsage = false }) => !isUsage);
    return its.map(measure => columnOf(resource, `${header}${measure.suffix}`, measure));
  });
}

function tableOf(columns: readonly Column[], { headers, terminal }: TopTableOptions): string {
  const rows = (columns[0]?.cells ?? []).map((_, i) => i);
  const all = columns.map(({ cells, ...column }) => ({ ...column, cell: (row: number): Cell => cells[row] ?? '' }));
  const { header, cells } = fittedRows<number>(all, rows, terminal?.columns, DESCRIBE);
  return renderTable(headers ? [header, ...cells] : cells, DESCRIBE);
}

// The tables of `kubectl nodepool top --by resource`: a line for each resource of a pool or node.

/** Maximum and minimum width of a bar. */
const MAX_BAR_WIDTH = 20;
const NARROWEST_BAR = 5;

interface ResourceColumn {
  header: string;
  rank?: number;
  cell: (figures: ResourceFigures, resource: string) => Cell;
}

/** The columns before the resource. */
type HeadColumn = Omit<FittedColumn<TopLine>, 'cell'>;

/** A row: its first cells, and the figures of the other columns. */
interface TopLine {
  head: Cell[];
  resource: string;
  figures: ResourceFigures;
}

/** Pools, then their total. */
export function renderPoolResources(
  { pools, total, usage }: TopResult,
  options: TopTableOptions,
  style: Style,
): string {
  const lines = pools.flatMap(({ pool, tally }) => linesOf([pool ?? NONE, nodesCell(tally)], tally, options));
  const sum = ['TOTAL', nodesCell(total)].map(text => ({ text, paint: style.bold }));
  const all = pools.length > 1 ? [...lines, ...linesOf(sum, total, options)] : lines;
  const head = [
    { header: 'POOL', cutFrom: Infinity, isName: true },
    { header: 'NODES', rank: 4 },
  ];
  return resourceTable(head, all, resourceLineColumns(usage, true, style), options, style);
}

/** Nodes, then their total. */
export function renderNodeResources(
  { nodes, total, usage }: TopResult,
  options: TopTableOptions,
  style: Style,
): string {
  const lines = nodes.flatMap(row =>
    linesOf([row.node.name, row.pool ?? NONE, nodeStatusCell(row.node, style)], row.tally, options),
  );
  const sum = ['TOTAL', NONE, nodesCell(total)].map(text => ({ text, paint: style.bold }));
  const all = nodes.length > 1 ? [...lines, ...linesOf(sum, total, options)] : lines;
  const head = [
    { header: 'NODE', cutFrom: Infinity, isName: true },
    { header: 'POOL', rank: 6, cutFrom: Infinity, isName: true },
    { header: 'STATUS', rank: 5, cutFrom: Infinity },
  ];
  return resourceTable(head, all, resourceLineColumns(usage, false, style), options, style);
}

function linesOf(head: Cell[], { figures }: ResourceTotals, { everyResource }: TopTableOptions): TopLine[] {
  return [...figures]
    .filter(([resource, its]) => everyResource || !isNothing(resource, its))
    .map(([resource, its]) => ({ head, resource, figures: its }));
}

/** An extended resource with neither allocatable nor requests. */
function isNothing(resource: string, { allocatable, requested }: ResourceFigures): boolean {
  return resource.includes('/') && allocatable.unscaled === 0n && (requested?.unscaled ?? 0n) === 0n;
}

function resourceTable(
  head: readonly HeadColumn[],
  lines: TopLine[],
  columns: readonly ResourceColumn[],
  { headers, terminal }: TopTableOptions,
  style: Style,
): string {
  const all: FittedColumn<TopLine>[] = [
    ...head.map((column, i) => ({ ...column, cell: (line: TopLine) => line.head[i] ?? '' })),
    { header: 'RESOURCE', cell: ({ resource }) => oneWord(resource), cutFrom: Infinity, isName: true },
    ...columns.map(({ cell, ...column }) => ({
      ...column,
      cell: ({ figures, resource }: TopLine) => cell(figures, resource),
    })),
  ];
  const { header, cells: rows } = fittedRows(all, lines, terminal?.columns, DESCRIBE);
  const table: Cell[][] = headers ? [header, ...rows] : rows;
  const room = terminal === undefined ? 0 : Math.min(terminal.columns - takenWidth(table, DESCRIBE), MAX_BAR_WIDTH);
  if (terminal === undefined || room < NARROWEST_BAR) return renderTable(table, DESCRIBE);
  for (const [at, { figures }] of lines.entries()) {
    const percent = percentOf(figures, 'requested');
    if (percent === undefined) continue;
    rows[at]?.push({ text: bar(percent / 100, room, terminal.glyphs), paint: fillPaint(percent, style) });
  }
  return renderTable(table, DESCRIBE);
}

function resourceLineColumns(usage: TopResult['usage'], isOfPools: boolean, style: Style): ResourceColumn[] {
  const allocatable: ResourceColumn = {
    header: 'ALLOC',
    cell: ({ allocatable }, resource) => amount(allocatable, resource),
  };
  if (usage === undefined) return [allocatable];
  const used: ResourceColumn[] = [
    { header: 'USED', rank: 3, cell: ({ used }, resource) => amount(used, resource) },
    { header: 'USED%', rank: 1, cell: figures => percentCell(figures, 'used', style) },
  ];
  const maxFree: ResourceColumn = {
    header: 'FIT',
    rank: 1,
    cell: (figures, resource) => amount(figures.maxFree, resource),
  };
  return [
    allocatable,
    { header: 'REQUESTED', rank: 3, cell: ({ requested }, resource) => amount(requested, resource) },
    { header: 'REQ%', cell: figures => percentCell(figures, 'requested', style) },
    { header: 'LIMITS', rank: 2, cell: ({ limits }, resource) => amount(limits, resource) },
    ...(usage.kind === 'served' ? used : []),
    { header: 'FREE', cell: ({ free }, resource) => amount(free, resource) },
    // For one node it equals FREE.
    ...(isOfPools ? [maxFree] : []),
  ];
}
