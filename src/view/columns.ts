/** The columns of the lists: cell and sort value of a row, and which columns are dropped first on a narrow screen. */
import { maintenanceCell } from '../commands/shared/cordon/print-cordon.ts';
import { typeCell } from '../commands/shared/describe/print-timeline.ts';
import { amount as amountCell, fillPaint, podsCell } from '../commands/shared/top/top-cells.ts';
import { isOverdue, maintenanceOf } from '../nodepool/drain/maintenance.ts';
import { ownValue } from '../nodepool/json.ts';
import { quantityReader } from '../nodepool/quantity/amounts.ts';
import { NO_LOAD, percentOf, type ResourceFigures, ResourceTotals } from '../nodepool/quantity/resource-usage.ts';
import { STATE_WORDS, stateWord } from '../nodepool/status/state-word.ts';
import type { Node, ResourceList } from '../nodepool/types.ts';
import { BLOCKS, bar } from '../print/bar.ts';
import { listText, NONE, nodeStatusCell, stateCell, statusCell, taintsText } from '../print/cells.ts';
import { displayQuantity } from '../print/quantity.ts';
import type { Style } from '../print/style.ts';
import { type Cell, safeText } from '../print/table.ts';
import { formatAge } from '../print/time.ts';
import { amount, type EventRow, gpuOf, type NodeRow, nodesBar, type PoolRow } from './rows.ts';
import type { LiveUsage } from './view-usage.ts';

/** Sorts after every name. */
const LAST = '\uffff';
const LAST_STATE = STATE_WORDS.length;
/** Minimum terminal widths for amounts, for a bar of 20 characters and more columns, and for a bar of 10. */
const [WIDEST, WIDE, MIDDLE] = [160, 110, 70];

/** @param width of the terminal @param usage undefined shows allocatable resources */
export function poolColumns(
  rows: readonly PoolRow[],
  width: number,
  style: Style,
  usage: LiveUsage | undefined,
): Column<PoolRow>[] {
  const bar = width >= WIDE ? 20 : width >= MIDDLE ? 10 : 5;
  return [
    // Nodes without a pool come last.
    { ...name<PoolRow>(row => row.key), value: ({ key, pool }) => (pool === undefined ? LAST : key) },
    {
      title: 'STATUS',
      letter: 'S',
      cell: ({ pool, live }) => (pool === undefined ? '' : statusCell(pool, style, live)),
      value: ({ pool, live }) => (pool === undefined ? LAST_STATE : STATE_WORDS.indexOf(stateWord(pool, live))),
      rank: 1,
    },
    ...(width < WIDE
      ? []
      : [
          text<PoolRow>('TAINTS', 'T', EXTRA, ({ pool }, most) => taintsText(pool?.spec.taints, most)),
          text<PoolRow>('ZONES', 'Y', EXTRA + 1, ({ members }, most) => valuesOf(members, ZONE, most)),
          text<PoolRow>('TYPES', 'K', EXTRA + 2, ({ members }, most) => valuesOf(members, INSTANCE_TYPE, most)),
        ]),
    {
      title: 'NODES',
      letter: 'Z',
      cell: ({ counts }, _, width) => nodesBar(counts, Math.min(bar, width), style),
      value: ({ size }) => size,
      descending: true,
      rank: 3,
      shrinks: LEAST_BAR,
    },
    {
      title: 'READY',
      letter: 'R',
      cell: ({ counts, size }) => {
        const text = `${size - counts.notReady}/${size}`;
        return counts.notReady > 0 ? { text, paint: style.yellow } : text;
      },
      value: ({ counts, size }) => (size === 0 ? 0 : 1 - counts.notReady / size),
      align: 'right',
      rank: 2,
    },
    {
      title: 'CORDONED',
      letter: 'X',
      cell: ({ cordoned }) => (cordoned > 0 ? { text: String(cordoned), paint: style.yellow } : '0'),
      value: ({ cordoned }) => cordoned,
      descending: true,
      align: 'right',
      rank: 3,
      known: '0',
    },
    ...(rows.some(({ live }) => live !== undefined && live.due > 0)
      ? [countColumn('DUE', 'B', row => row.live?.due ?? 0, style)]
      : []),
    ...(rows.some(({ live }) => live !== undefined && live.drifted > 0)
      ? [countColumn('DRIFT', 'F', row => row.live?.drifted ?? 0, style)]
      : []),
    ...(usage === undefined
      ? resources<PoolRow>(rows, row => row.allocatable)
      : usageColumns(rows, ({ members: nodes, allocatable }) => ({ nodes, allocatable }), { usage, style, width })),
    age(({ pool }) => pool?.metadata.creationTimestamp),
  ];
}

const ZONE = 'topology.kubernetes.io/zone';
const INSTANCE_TYPE = 'node.kubernetes.io/instance-type';
/** Columns with at least this rank are dropped before names are cut if all their cells are the same. */
export const EXTRA = 10;
/** Beyond this many characters, further list items are only counted; a shorter list would be useless. */
const [MOST_LIST, LEAST_LIST] = [48, 13];
const LEAST_BAR = 10;

/** A column for wide screens. */
function text<Row>(title: string, letter: string, rank: number, of: (row: Row, most: number) => string): Column<Row> {
  const cell = (row: Row, _: Date, width: number) => of(row, Math.min(width, MOST_LIST));
  return { title, letter, cell, value: row => of(row, MOST_LIST), rank, shrinks: LEAST_LIST };
}

/** The distinct values of a label. */
function valuesOf(nodes: readonly Node[], label: string, most: number): string {
  const values = new Set(nodes.flatMap(({ labels }) => ownValue(labels, label) || []));
  return listText([...values].toSorted(), most);
}

/** Shown only if there is something to count; otherwise it would usually be a column of zeros. */
function countColumn(title: string, letter: string, countOf: (row: PoolRow) => number, style: Style): Column<PoolRow> {
  return {
    title,
    letter,
    cell: row => (countOf(row) > 0 ? { text: String(countOf(row)), paint: style.yellow } : '0'),
    value: countOf,
    descending: true,
    align: 'right',
    rank: 3,
  };
}

export function nodeColumns(
  rows: readonly NodeRow[],
  { width, now, style, usage, isOfAll }: NodesSetting,
): Column<NodeRow>[] {
  const pool: Column<NodeRow> = {
    title: 'POOL',
    letter: 'O',
    cell: ({ pool = NONE }) => pool,
    value: ({ pool = LAST }) => pool,
    rank: 1,
  };
  return [
    name(row => row.key),
    ...(isOfAll ? [pool] : []),
    {
      title: 'STATUS',
      letter: 'S',
      cell: ({ node }) => nodeStatusCell(node, style),
      value: ({ node: { ready, unschedulable } }) => Number(ready) * 2 - Number(unschedulable),
      rank: 0,
    },
    {
      title: 'STATE',
      letter: 'T',
      cell: ({ membership, changes, blocked }) => {
        if (membership === undefined) return '';
        if (blocked !== undefined) return { text: blocked, paint: style.red };
        const cell = stateCell(membership, changes, style);
        // Most nodes are in sync: colour marks the others.
        return membership.kind === 'member' && changes === 0 ? safeText(cell) : cell;
      },
      value: ({ membership: { kind } = { kind: '' }, changes, blocked }) =>
        blocked ?? kind + (kind === 'member' ? changes : ''),
      rank: 2,
      known: 'in sync',
    },
    ...(rows.some(({ node }) => node.maintenance !== undefined) ? [maintenanceColumn(style, now)] : []),
    ...(width < WIDE
      ? []
      : [
          text<NodeRow>('ZONE', 'Z', EXTRA, ({ node }, most) => valuesOf([node], ZONE, most)),
          text<NodeRow>('TYPE', 'Y', EXTRA + 1, ({ node }, most) => valuesOf([node], INSTANCE_TYPE, most)),
          text<NodeRow>('TAINTS', 'X', EXTRA + 2, ({ node }, most) => taintsText(node.taints, most)),
        ]),
    ...(usage === undefined
      ? resources<NodeRow>(rows, ({ node }) => node.allocatable)
      : usageColumns(rows, ({ node }) => ({ nodes: [node], allocatable: node.allocatable }), { usage, style, width })),
    age(({ node }) => node.creationTimestamp),
  ];
}

interface NodesSetting {
  /** Width of the terminal. */
  width: number;
  now: Date;
  style: Style;
  usage: LiveUsage | undefined;
  /** The list contains nodes of all pools. */
  isOfAll: boolean;
}

/** Shown only if a node is under maintenance. */
function maintenanceColumn(style: Style, now: Date): Column<NodeRow> {
  return {
    title: 'MAINTENANCE',
    letter: 'I',
    cell: ({ node }, _, width) => maintenanceCell(node, now, width, style),
    value: ({ node }) => maintenanceOrder(node, now),
    rank: 1,
    shrinks: 18,
  };
}

/** The earliest end comes first, nodes without maintenance last. */
function maintenanceOrder(node: NodeRow['node'], now: Date): string {
  const state = maintenanceOf(node);
  if (state === undefined) return LAST;
  if (state.kind !== 'active') return `1${state.kind}`;
  const { maintenance } = state;
  return isOverdue(maintenance, now) ? `0${maintenance.until}` : `2${maintenance.until ?? LAST}`;
}

export function eventColumns(pool: string | undefined, style: Style): Column<EventRow>[] {
  const ofPool: Column<EventRow> = {
    title: 'POOL',
    letter: 'O',
    cell: ({ event }) => event.pool,
    value: ({ event }) => event.pool,
    rank: 1,
  };
  return [
    {
      title: 'LAST SEEN',
      letter: 'L',
      cell: ({ event: { lastSeen, count } }, now) => `${formatAge(lastSeen, now)}${count > 1 ? ` x${count}` : ''}`,
      value: ({ event }) => -Date.parse(event.lastSeen) || 0,
      rank: 2,
    },
    {
      title: 'TYPE',
      letter: 'T',
      cell: ({ event }) => typeCell({ isWarning: event.type === 'Warning' }, style),
      value: ({ event }) => event.type,
      rank: 3,
    },
    { title: 'REASON', letter: 'S', cell: ({ event }) => event.reason, value: ({ event }) => event.reason, rank: 0 },
    ...(pool === undefined ? [ofPool] : []),
    {
      title: 'MESSAGE',
      letter: 'M',
      cell: ({ event }) => event.note,
      value: ({ event }) => event.note,
      rank: 0,
      // Enter shows the full text.
      shrinks: 12,
    },
  ];
}

function name<Row>(of: (row: Row) => string): Column<Row> {
  return { title: 'NAME', letter: 'N', cell: of, value: of, rank: 0, shrinks: 24, isName: true };
}

/** Sorted by age, the reverse of creation time. */
function age<Row>(of: (row: Row) => string | undefined): Column<Row> {
  const value = (row: Row) => -Date.parse(of(row) ?? '') || 0;
  return {
    title: 'AGE',
    letter: 'A',
    cell: (row, now) => (of(row) === undefined ? '' : formatAge(of(row), now)),
    value,
    align: 'right',
    rank: EXTRA + 3,
  };
}

/** CPU, memory, pods, and GPUs if there are any. */
function resources<Row>(rows: readonly Row[], of: (row: Row) => Record<string, string>): Column<Row>[] {
  const column = (title: string, letter: string, rank: number, resourceOf: (row: Row) => string | undefined) => ({
    title,
    letter,
    cell: (row: Row) => {
      const resource = resourceOf(row);
      return resource === undefined ? '0' : displayQuantity(resource, of(row)[resource] ?? '0');
    },
    value: (row: Row) => amount(of(row), resourceOf(row) ?? ''),
    descending: true,
    align: 'right' as const,
    rank,
  });
  const gpus = rows.some(row => gpuOf(of(row)) !== undefined);
  return [
    column('CPU', 'C', 4, () => 'cpu'),
    column('MEMORY', 'M', 5, () => 'memory'),
    column('PODS', 'P', 6, () => 'pods'),
    ...(gpus ? [column('GPUS', 'U', 4, row => gpuOf(of(row)))] : []),
  ];
}

// Requested and used resources of a row, and their columns.

interface UsageRow {
  nodes: readonly Node[];
  allocatable: ResourceList;
}

/** The content of a usage column: the bar, and on the widest screens the amounts. */
interface BarSetting {
  usage: LiveUsage;
  style: Style;
  /** Width of the terminal. */
  width: number;
}

/** Replaces allocatable resources. Cells are empty until usage was read. @param of returns the nodes of a row */
function usageColumns<Row>(
  rows: readonly Row[],
  of: (row: Row) => UsageRow,
  { usage, style, width }: BarSetting,
): Column<Row>[] {
  const barWidth = width >= WIDE ? 10 : 5;
  const figuresOf = usage.kind === 'read' ? figuresReader(of, usage) : () => undefined;
  const percent = (row: Row, resource: string, measure: 'requested' | 'used') => {
    const figures = figuresOf(row, resource);
    return figures && percentOf(figures, measure);
  };
  const column = (
    title: string,
    letter: string,
    rank: number,
    resourceOf: (row: Row) => string | undefined,
    measure: 'requested' | 'used',
  ): Column<Row> => ({
    title,
    letter,
    cell: row => {
      const resource = resourceOf(row) ?? '';
      const figures = figuresOf(row, resource);
      const amounts = width < WIDEST || figures === undefined ? '' : amountsText(figures, measure, resource);
      return barCell(percent(row, resource, measure), { barWidth, amounts, style });
    },
    value: row => percent(row, resourceOf(row) ?? '', measure) ?? -1,
    descending: true,
    rank,
  });
  const pods: Column<Row> = {
    title: 'PODS',
    letter: 'P',
    cell: row => {
      const figures = figuresOf(row, 'pods');
      return figures === undefined ? '' : podsCell(figures);
    },
    value: row => Number(figuresOf(row, 'pods')?.requested?.unscaled ?? -1),
    descending: true,
    align: 'right',
    rank: 6,
  };
  const isMetered = usage.kind === 'read' && usage.used.kind === 'served';
  const used = (title: string, letter: string, resource: string) =>
    isMetered ? [column(title, letter, 2, () => resource, 'used')] : [];
  const gpu = (row: Row) => gpuOf(of(row).allocatable);
  return [
    column('CPU REQ', 'C', 1, () => 'cpu', 'requested'),
    ...used('CPU USED', 'V', 'cpu'),
    column('MEM REQ', 'M', 1, () => 'memory', 'requested'),
    ...used('MEM USED', 'W', 'memory'),
    pods,
    ...(rows.some(row => gpu(row) !== undefined) ? [column('GPU REQ', 'U', 2, gpu, 'requested')] : []),
  ];
}

/** Computes the sums of a row lazily: all rows are only needed for sorting. */
function figuresReader<Row>(of: (row: Row) => UsageRow, { demand, used }: Extract<LiveUsage, { kind: 'read' }>) {
  const known = new Map<Row, ResourceTotals>();
  const reading = { read: quantityReader(), onProblem: () => {} };
  const byNode = used.kind === 'served' ? used.byNode : undefined;
  return (row: Row, resource: string): ResourceFigures | undefined => {
    let tally = known.get(row);
    if (tally === undefined) {
      const { nodes, allocatable } = of(row);
      const gpu = gpuOf(allocatable);
      tally = new ResourceTotals(['cpu', 'memory', 'pods', ...(gpu === undefined ? [] : [gpu])], true);
      for (const node of nodes) {
        const load = demand.byNode.get(node.name) ?? NO_LOAD;
        tally.add({ node, load, used: byNode?.get(node.name) }, reading);
      }
      known.set(row, tally);
    }
    return tally.figures.get(resource);
  };
}

/** `2.5/4`: out of allocatable, for usage of the nodes that are measured. */
function amountsText(figures: ResourceFigures, measure: 'requested' | 'used', resource: string): string {
  const [part, all] = [figures[measure], measure === 'used' ? figures.measured : figures.allocatable];
  return part === undefined ? '' : ` ${amountCell(part, resource)}/${amountCell(all, resource)}`;
}

/** `███░░  62%`, on the widest screens `███░░  62% 2.5/4`. */
function barCell(
  percent: number | undefined,
  { barWidth, amounts, style }: { barWidth: number; amounts: string; style: Style },
): Cell {
  if (percent === undefined) return '';
  const text = `${bar(percent / 100, barWidth, BLOCKS)} ${String(Math.trunc(percent)).padStart(3)}%${amounts}`;
  return { text, paint: fillPaint(percent, style) };
}

export interface Column<Row> {
  title: string;
  /** Shift and this letter sort by the column. */
  letter: string;
  /** @param width of a column that shrinks; Infinity shows all */
  cell(row: Row, now: Date, width: number): Cell;
  value(row: Row): string | number;
  align?: 'right';
  /** The first press sorts in descending order. */
  descending?: boolean;
  /** On a narrow screen, columns with a higher number are dropped first; 0 is never dropped. */
  rank: number;
  /** The column is cut to this width before others are dropped. */
  shrinks?: number;
  /** The usual value: if all cells have it, the column is dropped first. */
  known?: string;
  /** Different cells stay different when they are cut, if possible. */
  isName?: boolean;
}
