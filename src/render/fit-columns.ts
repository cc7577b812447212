/** Fits a table into a terminal: lists are cut, then columns left out, the least important first. */
import { type Cell, columnWidths, GET } from './table.ts';

export interface Column<Row> {
  header: string;
  /** @param width what a list may take; Infinity outside a terminal */
  cell: (row: Row, now: Date, width: number) => Cell;
  /** Columns with the highest rank are left out first; those without one never. */
  rank?: number;
  /** It is cut before it is left out; without a rank it is cut when all that have one are left out. */
  isList?: boolean;
}

/** After the last header where columns are left out. */
export const LEFT_OUT = ' …';

/** A list cut to less says too little. */
const LEAST_WIDTH = 12;

/**
 * The columns that fit the first rows; later rows have the same columns, with lists cut to the same widths. Where cutting and
 * leaving out is not enough, the rest is as it is. The last header says that columns are left out.
 */
export function fitColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  now: Date,
  terminalWidth: number,
): Column<Row>[] {
  const cells = rows.map(row => columns.map(({ cell }) => cell(row, now, Infinity)));
  const widths = columnWidths([columns.map(({ header }) => header), ...cells], GET.minWidth);
  let left = columns.map((column, i) => ({ column, width: widths[i] ?? 0 }));
  for (;;) {
    const highest = Math.max(...left.map(({ column: { rank = 0 } }) => rank));
    const isCut = ({ isList = false, rank = 0 }: Column<Row>) => isList && (rank > 0 || highest === 0);
    const last = left.at(-1);
    const isWhole = last === undefined || left.length === columns.length;
    const mark = isWhole ? 0 : Math.max(last.column.header.length + LEFT_OUT.length - last.width, 0);
    const all = sum(left.map(({ width }) => width)) + GET.gap * (left.length - 1) + mark;
    const lists = left.filter(({ column }) => isCut(column)).map(({ width }) => width);
    const width = share(lists, terminalWidth - all + sum(lists));
    if (all <= terminalWidth || width >= LEAST_WIDTH || highest === 0) {
      const most = Math.max(width, LEAST_WIDTH);
      const fitted = left.map(({ column }) => (isCut(column) ? cutTo(column, most) : column));
      return isWhole ? fitted : fitted.map(each => (each === fitted.at(-1) ? marked(each) : each));
    }
    left = left.filter(({ column }) => column.rank !== highest);
  }
}

function marked<Row>(column: Column<Row>): Column<Row> {
  return { ...column, header: column.header + LEFT_OUT };
}

function cutTo<Row>(column: Column<Row>, width: number): Column<Row> {
  return { ...column, cell: (row, now) => column.cell(row, now, width) };
}

/** The most that each may take so that all of them fit into the room. */
function share(widths: readonly number[], room: number): number {
  let [rest, count] = [room, widths.length];
  for (const width of widths.toSorted((a, b) => a - b)) {
    if (width * count > rest) return Math.floor(rest / count);
    rest -= width;
    count -= 1;
  }
  return Math.max(0, ...widths) + rest;
}

function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width, 0);
}
