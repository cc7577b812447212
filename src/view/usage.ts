/** Requested and used resources of a row, and their columns. */
import { quantityReader } from '../nodepool/amounts.ts';
import type { Quantity } from '../nodepool/quantity.ts';
import { type Figures, NO_LOAD, percentOf, Tally } from '../nodepool/resource-usage.ts';
import type { Node, ResourceList } from '../nodepool/types.ts';
import type { LiveUsage } from '../operations/view/view-usage.ts';
import { BLOCKS, bar } from '../render/bar.ts';
import type { Style } from '../render/style.ts';
import type { Cell } from '../render/table.ts';
import { fillPaint, podsCell } from '../render/top-cells.ts';
import type { Column } from './column.ts';
import { gpuOf } from './rows.ts';

interface UsageRow {
  nodes: readonly Node[];
  allocatable: ResourceList;
}

const BAR_WIDTH = 5;

/**
 * In place of the columns of allocatable resources. Cells are empty until usage was read.
 * @param of the nodes of a row
 */
export function usageColumns<Row>(
  rows: readonly Row[],
  of: (row: Row) => UsageRow,
  usage: LiveUsage,
  style: Style,
): Column<Row>[] {
  const figuresOf = usage.kind === 'read' ? figuresReader(of, usage) : () => undefined;
  const percent = (row: Row, resource: string, of: (figures: Figures) => Quantity | undefined) => {
    const figures = figuresOf(row, resource);
    return figures && percentOf(of(figures), figures);
  };
  const column = (
    title: string,
    letter: string,
    rank: number,
    resourceOf: (row: Row) => string | undefined,
    of: (figures: Figures) => Quantity | undefined,
  ): Column<Row> => ({
    title,
    letter,
    cell: row => barCell(percent(row, resourceOf(row) ?? '', of), style),
    value: row => percent(row, resourceOf(row) ?? '', of) ?? -1,
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
    isMetered
      ? [
          column(
            title,
            letter,
            2,
            () => resource,
            figures => figures.used,
          ),
        ]
      : [];
  const gpu = (row: Row) => gpuOf(of(row).allocatable);
  return [
    column(
      'CPU REQ',
      'C',
      1,
      () => 'cpu',
      figures => figures.requested,
    ),
    ...used('CPU USED', 'V', 'cpu'),
    column(
      'MEM REQ',
      'M',
      1,
      () => 'memory',
      figures => figures.requested,
    ),
    ...used('MEM USED', 'W', 'memory'),
    pods,
    ...(rows.some(row => gpu(row) !== undefined) ? [column('GPU REQ', 'U', 2, gpu, figures => figures.requested)] : []),
  ];
}

/** Sums of a row are computed when first needed: all rows only for sorting. */
function figuresReader<Row>(of: (row: Row) => UsageRow, { demand, used }: Extract<LiveUsage, { kind: 'read' }>) {
  const known = new Map<Row, Tally>();
  const reading = { read: quantityReader(), onProblem: () => {} };
  const byNode = used.kind === 'served' ? used.byNode : undefined;
  return (row: Row, resource: string): Figures | undefined => {
    let tally = known.get(row);
    if (tally === undefined) {
      const { nodes, allocatable } = of(row);
      const gpu = gpuOf(allocatable);
      tally = new Tally(['cpu', 'memory', 'pods', ...(gpu === undefined ? [] : [gpu])], true);
      for (const node of nodes) {
        const load = demand.byNode.get(node.name) ?? NO_LOAD;
        tally.add({ node, load, used: byNode?.get(node.name) }, reading);
      }
      known.set(row, tally);
    }
    return tally.figures.get(resource);
  };
}

/** `███░░  62%` */
function barCell(percent: number | undefined, style: Style): Cell {
  if (percent === undefined) return '';
  const text = `${bar(percent / 100, BAR_WIDTH, BLOCKS)} ${String(Math.trunc(percent)).padStart(3)}%`;
  return { text, paint: fillPaint(percent, style) };
}
