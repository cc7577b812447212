/** The table of `kubectl nodepool get`. Cells contain no spaces, so that `awk '{print $2}'` prints the status. */
import { type Io, terminalWidth as terminalWidthOf } from '../../cli/io.ts';
import type { MaintenanceCounts } from '../../nodepool/drain/maintenance.ts';
import { ownValue } from '../../nodepool/json.ts';
import { membershipSelector, selectorText } from '../../nodepool/membership/selector.ts';
import { inResourceOrder, isAccelerator } from '../../nodepool/quantity/amounts.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { liveCode } from '../../nodepool/status/state-word.ts';
import type { NodePool, NodePoolStatus } from '../../nodepool/types.ts';
import {
  LIST_WIDTH,
  labelHeader,
  labelsText,
  NONE,
  oneWord,
  poolResource,
  resourceHeaders,
  statusCell,
  taintsText,
  troubleOf,
  withoutSpaces,
} from '../../print/cells.ts';
import { type Column, fitColumns } from '../../print/fit-columns.ts';
import type { ObjectTemplate } from '../../print/object-template.ts';
import type { ChangeType, ObjectFormat } from '../../print/printers.ts';
import { isPositive } from '../../print/quantity.ts';
import { poolRef } from '../../print/sanitize.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, GET, tablePrinter } from '../../print/table.ts';
import { formatAge, UNKNOWN } from '../../print/time.ts';
import { cut } from '../../print/width.ts';
import type { LivePool } from './live-counts.ts';

export interface PoolsTableOptions {
  wide: boolean;
  headers: boolean;
  /** Shown instead of CPU, memory and pods; `all` stands for every resource of a pool. */
  resources?: readonly string[] | 'all' | undefined;
  /** Labels that get a column each. */
  labelColumns?: readonly string[] | undefined;
  /** Show all labels in the last column. */
  showLabels?: boolean | undefined;
  /** Prefix names with the kind, as -o name does. */
  showKind?: boolean | undefined;
  /** Fits the table to this terminal width: cuts taints, then leaves columns out. Undefined keeps cells whole. */
  terminalWidth?: number | undefined;
  /** Pools are printed again when they change; leaves room for longer values. */
  isWatch?: boolean | undefined;
  /** Pools computed from the current nodes, by name; without it STATUS and all numbers come from the status. */
  live?: ReadonlyMap<string, LivePool> | undefined;
}

/** A table, an object format, or a template. */
export type PoolOutput = PoolsTableOptions | ObjectFormat | ObjectTemplate;

/** The terminal's width, if the table has to fit it. */
export function widthFor({ wide, showLabels }: PoolsTableOptions, io: Io): number | undefined {
  return wide || showLabels ? undefined : terminalWidthOf(io);
}

/** In the order in which a narrow terminal keeps them; --resources are all kept. */
const RESOURCES = ['cpu', 'memory', 'pods'];
const STORAGE = 'ephemeral-storage';
const [READY_RANK, COUNT_RANK, DEVICE_RANK, AGE_RANK, RESOURCE_RANK] = [1, 2, 3, 4, 5];
const TAINTS_RANK = RESOURCE_RANK + RESOURCES.length;

const EVENT_WIDTH = 'MODIFIED'.length;
/** STATUS may change from `Ready` to a longer word. */
const STATUS_GROWTH = 'Progressing'.length - 'STATUS'.length;

/**
 * The first call returns the table, later calls return further rows, because a watch prints changed pools again. The
 * pools of the first call determine the columns. Status fields that no reconcile has written yet are `<none>`.
 * @returns prints pools; with an event type they get a first column EVENT
 */
export function poolsPrinter(
  options: PoolsTableOptions,
  style: Style,
): (pools: NodePool[], now: Date, event?: ChangeType) => string {
  let table: { columns: Column<NodePool>[]; render: (rows: Cell[][]) => string } | undefined;
  return (raw, now, event) => {
    const pools = raw.map(pool => withLive(coercePool(pool), options.live?.get(pool.metadata.name)));
    if (table === undefined) {
      const all = columnsOf(pools, options, style);
      const { terminalWidth, isWatch = false } = options;
      const reserved = event === undefined ? 0 : EVENT_WIDTH + GET.gap;
      const fitted = (room: number) => fitColumns(all, pools, now, room - reserved);
      let columns = terminalWidth === undefined ? all : fitted(terminalWidth);
      // Leaves room for a longer status, unless that would cost a column.
      if (terminalWidth !== undefined && isWatch) {
        const spacious = fitted(terminalWidth - STATUS_GROWTH);
        if (spacious.length === columns.length) columns = spacious;
      }
      const header = [...(event === undefined ? [] : ['EVENT']), ...columns.map(column => column.header)];
      table = { columns, render: tablePrinter(options.headers ? header : undefined) };
    }
    const { columns, render } = table;
    // As wide as the longest event type from the start, so that columns stay aligned.
    const first = event === undefined ? [] : [event.padEnd(EVENT_WIDTH)];
    return render(pools.map(pool => [...first, ...columns.map(({ cell }) => cell(pool, now, Infinity))]));
  };
}

/** The pool with these numbers in its status, which the table and --sort-by read. */
export function withLive<P extends NodePool>(pool: P, live: LivePool | undefined): P {
  if (live === undefined) return pool;
  const { nodes, ready, due, cordoned, allocatable } = live;
  // Former members are due, too.
  const counts = { nodeCount: nodes, readyNodeCount: ready, updatedNodeCount: Math.max(0, nodes - due) };
  const status = { ...pool.status, ...counts, unschedulableNodeCount: cordoned, allocatable };
  return { ...pool, status: status as NodePoolStatus };
}

function columnsOf(pools: NodePool[], options: PoolsTableOptions, style: Style): Column<NodePool>[] {
  const { wide, resources, labelColumns = [], showLabels = false, showKind = false, live } = options;
  const chosen = resources === 'all' ? allResources(pools) : resources;
  const devices = chosen === undefined ? extendedResources(pools).filter(isAccelerator) : [];
  const headers = resourceHeaders(devices);
  const counted = (header: string, of: (pool: NodePool) => number | undefined, none = NONE) =>
    countColumn({ header, of, none, pools, style }, options);
  return [
    {
      header: 'NAME',
      cell: ({ metadata }) => (showKind ? poolRef(metadata.name) : metadata.name),
      cutFrom: 0,
      isName: true,
    },
    { header: 'STATUS', cell: pool => statusCell(pool, style, live?.get(pool.metadata.name)) },
    { header: 'NODES', cell: ({ status }) => count(status?.nodeCount) },
    { header: 'READY', cell: readyCell(style), rank: READY_RANK },
    ...counted('CORDONED', ({ status }) => status?.unschedulableNodeCount),
    ...counted('DUE', pool => live?.get(pool.metadata.name)?.due ?? dueNodesOf(pool)),
    ...counted('DRIFT', ({ metadata }) => live?.get(metadata.name)?.drifted, UNKNOWN),
    ...(chosen ?? RESOURCES).map((name, i) => ({
      ...resourceColumn(name),
      rank: chosen === undefined ? i + RESOURCE_RANK : 0,
    })),
    ...devices.map(name => ({ ...resourceColumn(name), header: headers.get(name) ?? name, rank: DEVICE_RANK })),
    taintsColumn(wide ? Infinity : LIST_WIDTH),
    { header: 'AGE', cell: ({ metadata }, now) => formatAge(metadata.creationTimestamp, now), rank: AGE_RANK },
    ...(wide ? wideColumns(pools, { withResources: chosen === undefined, live }, style) : []),
    ...labelColumns.map(labelColumn),
    ...(showLabels ? [{ header: 'LABELS', cell: ({ metadata }: NodePool) => labelsText(metadata.labels) }] : []),
  ];
}

function taintsColumn(most: number): Column<NodePool> {
  return {
    header: 'TAINTS',
    cell: ({ spec }, _, width) => cut(withoutSpaces(taintsText(spec.taints, Math.min(width, most))), width),
    rank: TAINTS_RANK,
    cutFrom: Infinity,
  };
}

function readyCell(style: Style): (pool: NodePool) => Cell {
  return ({ status }) => {
    const { nodeCount = 0, readyNodeCount } = status ?? {};
    const text = count(readyNodeCount);
    return readyNodeCount !== undefined && readyNodeCount < nodeCount ? { text, paint: style.yellow } : text;
  };
}

/**
 * On a terminal, shows the column only if there is something to count. Pipes and watches always have it: columns that
 * come and go would break scripts.
 */
function countColumn(
  {
    header,
    of,
    none,
    pools,
    style,
  }: { header: string; of: (pool: NodePool) => number | undefined; none: string; pools: NodePool[]; style: Style },
  { terminalWidth, isWatch }: PoolsTableOptions,
): Column<NodePool>[] {
  const hasSome = pools.some(pool => (of(pool) ?? 0) > 0);
  if (terminalWidth !== undefined && !isWatch && !hasSome) return [];
  const cell = (pool: NodePool): Cell => {
    const number = of(pool);
    if (number === undefined) return none;
    return number > 0 ? { text: count(number), paint: style.yellow } : count(number);
  };
  return [{ header, cell, rank: COUNT_RANK, known: none }];
}

/** By the status: the number of members that differ from the pool's spec. */
function dueNodesOf({ status }: NodePool): number | undefined {
  const { nodeCount = 0, updatedNodeCount } = status ?? {};
  return updatedNodeCount === undefined ? undefined : nodeCount - updatedNodeCount;
}

function wideColumns(
  pools: NodePool[],
  { withResources, live }: { withResources: boolean } & Pick<PoolsTableOptions, 'live'>,
  style: Style,
): Column<NodePool>[] {
  const others = withResources ? extendedResources(pools).filter(name => !isAccelerator(name)) : [];
  return [
    {
      header: 'CODE',
      cell: pool => {
        const now = live?.get(pool.metadata.name);
        return count(now === undefined ? pool.status?.status : liveCode(pool, now));
      },
    },
    { header: 'HANDLER', cell: ({ spec }) => withoutSpaces(spec.handler || NONE) },
    ...(withResources ? [resourceColumn(STORAGE)] : []),
    { header: 'SELECTOR', cell: pool => withoutSpaces(selectorText(membershipSelector(pool)) || NONE) },
    { header: 'REASON', cell: ({ status }) => oneWord(troubleOf(status)?.reason ?? NONE) },
    { header: 'MAINTENANCE', cell: ({ metadata }) => maintenanceCell(live?.get(metadata.name)?.maintenance, style) },
    ...others.map(resourceColumn),
  ];
}

/** `2`, or `2,1-overdue`. */
function maintenanceCell(counts: MaintenanceCounts | undefined, style: Style): Cell {
  if (counts === undefined) return UNKNOWN;
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

/** Extended resources and huge pages of any pool. */
function extendedResources(pools: NodePool[]): string[] {
  const isExtended = (name: string) => name.includes('/') || name.startsWith('hugepages');
  const hasSome = (name: string) =>
    pools.some(({ status }) => isPositive(ownValue(status?.allocatable ?? {}, name) ?? '0'));
  return allResources(pools).filter(name => isExtended(name) && hasSome(name));
}

/** Allocatable pods; if pods are counted, `42/1100`. */
function podsCell(status: NodePoolStatus | undefined): string {
  const places = poolResource(status, 'pods');
  return status?.podCount === undefined ? places : `${status.podCount}/${places}`;
}

function count(value: number | undefined): string {
  return value === undefined ? NONE : String(value);
}
