/** Fits a table into a terminal: lists are cut, then columns left out, the least important first, then names are cut. */
import { type Cell, columnWidths, GET, type Layout, safeText } from './table.ts';
import { cut, cutMiddle } from './width.ts';

export interface Column<Row> {
  header: string;
  /** @param width what a list may take; Infinity outside a terminal */
  cell: (row: Row, now: Date, width: number) => Cell;
  /** Columns with the highest rank are left out first; those without one never. */
  rank?: number;
  /** It may be cut once no column with a higher rank is left: Infinity before any is left out, 0 last. Without it never. */
  cutFrom?: number;
  /** Cells that differ still differ when they are cut, if that can be helped. */
  isName?: boolean;
  /** Its cells are wrapped: so much is enough for them. */
  wrapsAt?: number;
}

/** After the last header where columns are left out. */
const LEFT_OUT = ' …';

/** A list or a name cut to less says too little. */
const LEAST_WIDTH = 12;

/**
 * The columns that fit the first rows; later rows have the same columns, cut to the same widths. Where cutting and
 * leaving out is not enough, the rest is as it is. The last header says that columns are left out.
 */
export function fitColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  now: Date,
  terminalWidth: number,
  { gap, minWidth }: Layout = GET,
): Column<Row>[] {
  const cells = rows.map(row => columns.map(({ cell }) => cell(row, now, Infinity)));
  const widths = columnWidths([columns.map(({ header }) => header), ...cells], minWidth);
  let kept = columns.map((column, i) => ({ column, width: Math.min(widths[i] ?? 0, column.wrapsAt ?? Infinity) }));
  for (;;) {
    const highest = Math.max(...kept.map(({ column: { rank = 0 } }) => rank));
    const isCut = ({ cutFrom = -1 }: Column<Row>) => cutFrom >= highest;
    const last = kept.at(-1);
    const isWhole = last === undefined || kept.length === columns.length;
    const mark = isWhole ? 0 : Math.max(last.column.header.length + LEFT_OUT.length - last.width, 0);
    const all = sum(kept.map(({ width }) => width)) + gap * (kept.length - 1) + mark;
    const cuttable = kept.filter(({ column }) => isCut(column)).map(({ width }) => width);
    const width = share(cuttable, terminalWidth - all + sum(cuttable));
    const fits = all <= terminalWidth || width >= LEAST_WIDTH;
    const most = Math.max(width, LEAST_WIDTH);
    // Names cut in vain tell less.
    const cutsNow = (column: Column<Row>) => isCut(column) && (fits || column.isName !== true);
    const fitted = kept.map(({ column }) => (cutsNow(column) ? cutTo(column, most, rows, now) : column));
    if (highest === 0 || (fits && fitted.every((column, i) => tells(column, kept[i]?.column, rows, now)))) {
      return isWhole ? fitted : fitted.map(each => (each === fitted.at(-1) ? marked(each) : each));
    }
    kept = kept.filter(({ column }) => column.rank !== highest);
  }
}

function marked<Row>(column: Column<Row>): Column<Row> {
  return { ...column, header: column.header + LEFT_OUT };
}

/** At the end, where clouds' names of nodes have their domain; names that would be the same then lose their middle. */
function cutTo<Row>(column: Column<Row>, width: number, rows: readonly Row[], now: Date): Column<Row> {
  const cutBy = (shorten: typeof cut): Column<Row> => ({
    ...column,
    cell: (row, at) => {
      const cell = column.cell(row, at, width);
      const text = shorten(safeText(cell), width);
      return typeof cell === 'string' ? text : { ...cell, text };
    },
  });
  const atEnd = cutBy(cut);
  return tells(atEnd, column, rows, now) ? atEnd : cutBy(cutMiddle);
}

/** Whether names that differ still do. */
function tells<Row>(shown: Column<Row>, whole: Column<Row> | undefined, rows: readonly Row[], now: Date): boolean {
  if (whole === undefined || shown === whole || whole.isName !== true) return true;
  const different = ({ cell }: Column<Row>) => new Set(rows.map(row => safeText(cell(row, now, Infinity)))).size;
  return different(shown) === different(whole);
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
