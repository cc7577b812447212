/** The table of `kubectl nodepool get`. No cell has a space in it: `awk '{print $2}'` is the status. */
import { type Io, terminalWidth as terminalWidthOf } from '../../cli/io.ts';
import type { MaintenanceCounts } from '../../nodepool/drain/maintenance.ts';
import { ownValue } from '../../nodepool/json.ts';
import { membershipSelector, selectorText } from '../../nodepool/membership/selector.ts';
import { inResourceOrder } from '../../nodepool/quantity/amounts.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import type { NodePool, NodePoolStatus } from '../../nodepool/types.ts';
import {
  labelHeader,
  labelsText,
  NONE,
  oneWord,
  poolResource,
  statusCell,
  taintsText,
  troubleOf,
  withoutSpaces,
} from '../../print/cells.ts';
import { type Column, fitColumns } from '../../print/fit-columns.ts';
import type { ObjectTemplate } from '../../print/object-template.ts';
import type { ChangeType, ObjectFormat } from '../../print/printers.ts';
import { isPositive } from '../../print/quantity.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, GET, tablePrinter } from '../../print/table.ts';
import { formatAge } from '../../print/time.ts';
import { cut } from '../../print/width.ts';

export interface PoolsTableOptions {
  wide: boolean;
  headers: boolean;
  /** Shown in place of CPU, memory and pods; `all` stands for every resource of a pool. */
  resources?: readonly string[] | 'all' | undefined;
  /** Labels with a column each. */
  labelColumns?: readonly string[] | undefined;
  /** All labels in the last column. */
  showLabels?: boolean | undefined;
  /** Fits the table into a terminal of this width: taints are cut, then columns left out. Undefined keeps every cell whole. */
  terminalWidth?: number | undefined;
  /** Pools are printed again as they change: leaves room for that. */
  isWatch?: boolean | undefined;
  /** How many nodes match a pool that has no status, by its name. */
  matching?: ReadonlyMap<string, number> | undefined;
  /** Of the members of each pool, by its name; undefined where nodes were not read. */
  maintenance?: ReadonlyMap<string, MaintenanceCounts> | undefined;
}

/** A table, a format of objects, or a template. */
export type PoolOutput = PoolsTableOptions | ObjectFormat | ObjectTemplate;

/** The terminal's width, where the table has to fit it. */
export function widthFor({ wide, showLabels }: PoolsTableOptions, io: Io): number | undefined {
  return wide || showLabels ? undefined : terminalWidthOf(io);
}

/** Taints beyond this many characters are counted; -o wide lists all. */
const TAINTS_WIDTH = 32;
/** What a narrow terminal keeps longest, first; of --resources it keeps all. */
const RESOURCES = ['cpu', 'memory', 'pods'];
const STORAGE = 'ephemeral-storage';
/** Where no pool has cordoned nodes: the first to be left out of a watch, as a list has no such column then. */
const CORDONED_RANK = 8;

const EVENT_WIDTH = 'MODIFIED'.length;
/** From `200` to a status with a word. */
const STATUS_GROWTH = '409,Conflict'.length - 'STATUS'.length;

/**
 * The first call gives the table, later ones more rows: a watch prints pools again as they change. The pools of the first
 * call decide which columns there are. Status fields that no reconcile has written yet are `<none>`.
 * @returns prints pools; with an event type they get a first column EVENT
 */
export function poolsPrinter(
  options: PoolsTableOptions,
  style: Style,
): (pools: NodePool[], now: Date, event?: ChangeType) => string {
  let table: { columns: Column<NodePool>[]; render: (rows: Cell[][]) => string } | undefined;
  return (raw, now, event) => {
    const pools = raw.map(coercePool);
    if (table === undefined) {
      const all = columnsOf(pools, options, style);
      const { terminalWidth, isWatch = false } = options;
      const reserved = event === undefined ? 0 : EVENT_WIDTH + GET.gap;
      const fitted = (room: number) => fitColumns(all, pools, now, room - reserved);
      let columns = terminalWidth === undefined ? all : fitted(terminalWidth);
      // Room for a longer status, but not for the price of a column that a list without watching has.
      if (terminalWidth !== undefined && isWatch) {
        const spacious = fitted(terminalWidth - STATUS_GROWTH);
        if (spacious.length === columns.length) columns = spacious;
      }
      const header = [...(event === undefined ? [] : ['EVENT']), ...columns.map(column => column.header)];
      table = { columns, render: tablePrinter(options.headers ? header : undefined) };
    }
    const { columns, render } = table;
    // As wide as the longest event type from the start: columns do not grow.
    const first = event === undefined ? [] : [event.padEnd(EVENT_WIDTH)];
    return render(pools.map(pool => [...first, ...columns.map(({ cell }) => cell(pool, now, Infinity))]));
  };
}

function columnsOf(pools: NodePool[], options: PoolsTableOptions, style: Style): Column<NodePool>[] {
  const { wide, resources, labelColumns = [], showLabels = false, matching, terminalWidth, isWatch } = options;
  const hasCordoned = pools.some(({ status }) => (status?.unschedulableNodeCount ?? 0) > 0);
  const chosen = resources === 'all' ? allResources(pools) : resources;
  const taintsWidth = wide ? Infinity : TAINTS_WIDTH;
  return [
    { header: 'NAME', cell: ({ metadata }) => metadata.name, cutFrom: 0, isName: true },
    { header: 'STATUS', cell: pool => statusCell(pool, style) },
    { header: 'NODES', cell: ({ metadata, status }) => count(status?.nodeCount ?? matching?.get(metadata.name)) },
    { header: 'READY', cell: ({ status }) => count(status?.readyNodeCount), rank: 1 },
    // In a pipe and a watch it is always there: columns that come and go would break scripts.
    ...(terminalWidth === undefined || isWatch || hasCordoned
      ? [{ ...cordonedColumn(style), rank: hasCordoned ? 2 : CORDONED_RANK }]
      : []),
    ...(chosen ?? RESOURCES).map((name, i) => ({ ...resourceColumn(name), rank: chosen === undefined ? i + 4 : 0 })),
    taintsColumn(taintsWidth),
    { header: 'AGE', cell: ({ metadata }, now) => formatAge(metadata.creationTimestamp, now), rank: 3 },
    ...(wide
      ? wideColumns(pools, { withResources: chosen === undefined, maintenance: options.maintenance }, style)
      : []),
    ...labelColumns.map(labelColumn),
    ...(showLabels ? [{ header: 'LABELS', cell: ({ metadata }: NodePool) => labelsText(metadata.labels) }] : []),
  ];
}

function taintsColumn(most: number): Column<NodePool> {
  return {
    header: 'TAINTS',
    cell: ({ spec }, _, width) => cut(withoutSpaces(taintsText(spec.taints, Math.min(width, most))), width),
    rank: 7,
    cutFrom: Infinity,
  };
}

function cordonedColumn(style: Style): Column<NodePool> {
  return {
    header: 'CORDONED',
    cell: ({ status }) => {
      const number = status?.unschedulableNodeCount;
      return number ? { text: count(number), paint: style.yellow } : count(number);
    },
  };
}

function wideColumns(
  pools: NodePool[],
  { withResources, maintenance }: { withResources: boolean } & Pick<PoolsTableOptions, 'maintenance'>,
  style: Style,
): Column<NodePool>[] {
  const extended = withResources ? allResources(pools).filter(name => isExtended(name) && hasSome(pools, name)) : [];
  return [
    { header: 'HANDLER', cell: ({ spec }) => withoutSpaces(spec.handler || NONE) },
    ...(withResources ? [resourceColumn(STORAGE)] : []),
    { header: 'SELECTOR', cell: pool => withoutSpaces(selectorText(membershipSelector(pool)) || NONE) },
    { header: 'REASON', cell: ({ status }) => oneWord(troubleOf(status)?.reason ?? NONE) },
    { header: 'DRIFT', cell: pool => driftCell(pool, style) },
    { header: 'MAINTENANCE', cell: ({ metadata }) => maintenanceCountCell(maintenance?.get(metadata.name), style) },
    ...extended.map(resourceColumn),
  ];
}

function driftCell({ status }: NodePool, style: Style): Cell {
  const { nodeCount = 0, updatedNodeCount } = status ?? {};
  const known = updatedNodeCount === undefined ? undefined : nodeCount - updatedNodeCount;
  const text = count(known);
  return text === '0' || text === NONE ? text : { text, paint: style.yellow };
}

/** `2`, or `2,1-overdue`. */
function maintenanceCountCell(counts: MaintenanceCounts | undefined, style: Style): Cell {
  if (counts === undefined) return NONE;
  const { active, overdue } = counts;
  return overdue === 0 ? String(active) : { text: `${active},${overdue}-overdue`, paint: style.red };
}

function resourceColumn(name: string): Column<NodePool> {
  if (name === 'pods') return { header: 'PODS', cell: ({ status }) => podsCell(status) };
  const header = name === STORAGE ? 'STORAGE' : oneWord(name.toUpperCase());
  return { header, cell: ({ status }) => poolResource(status, name) };
}

function labelColumn(label: string): Column<NodePool> {
  return {
    header: labelHeader(label),
    cell: ({ metadata: { labels = {} } }) => ownValue(labels, label) || NONE,
    cutFrom: 0,
  };
}

function allResources(pools: NodePool[]): string[] {
  return inResourceOrder(pools.flatMap(({ status }) => Object.keys(status?.allocatable ?? {})));
}

/** Extended resources and huge pages, which most pools do not have. */
function isExtended(name: string): boolean {
  return name.includes('/') || name.startsWith('hugepages');
}

function hasSome(pools: NodePool[], name: string): boolean {
  return pools.some(({ status }) => isPositive(ownValue(status?.allocatable ?? {}, name) ?? '0'));
}

/** Allocatable pods; with pod counts `42/1100`. */
function podsCell(status: NodePoolStatus | undefined): string {
  const places = poolResource(status, 'pods');
  return status?.podCount === undefined ? places : `${status.podCount}/${places}`;
}

function count(value: number | undefined): string {
  return value === undefined ? NONE : String(value);
}
