/** Fits columns: first drops those without information, then cuts lists, drops unimportant columns, and cuts names. */
import { NONE } from './cells.ts';
import { cutNames } from './names.ts';
import { type Cell, columnWidths, GET, type Layout, LEAST_TEXT, safeText } from './table.ts';
import { cut } from './width.ts';

export interface Column<Row> {
  header: string;
  /** @param width the maximum width of a list; Infinity outside of a terminal */
  cell: (row: Row, now: Date, width: number) => Cell;
  /** Columns with the highest rank are left out first; columns without a rank never. */
  rank?: number;
  /** The column may be cut once no column with a higher rank is left: Infinity: first, 0: last. Undefined: never. */
  cutFrom?: number;
  /** Different cells stay different when they are cut, if possible. */
  isName?: boolean;
  /** The value that is known without the column: if all cells have it, the column is left out first. */
  known?: string | undefined;
  /** Only for the last column: the table's printer wraps its cells, beside the other columns or below them. */
  isText?: boolean;
}

/** A table that is printed only once, without ages. @param terminalWidth undefined keeps every cell whole */
export function fittedRows<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  terminalWidth: number | undefined,
  layout?: Layout,
): { header: string[]; cells: Cell[][] } {
  const time = new Date(0);
  const fitted = terminalWidth === undefined ? columns : fitColumns(columns, rows, time, terminalWidth, layout);
  const cells = rows.map(row => fitted.map(({ cell }) => cell(row, time, Infinity)));
  return { header: fitted.map(({ header }) => header), cells };
}

/** Follows the last header if columns are left out. */
const LEFT_OUT = ' …';

/** A shorter list or name would be useless. */
const LEAST_WIDTH = 12;

/**
 * Chooses the columns that fit the first rows; later rows have the same columns and widths. Columns whose cells all
 * have the known value, then empty ones, are left out first, whatever their rank. If cutting and leaving out is not
 * enough, the rest is too wide. The last header shows that columns are left out.
 */
export function fitColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  now: Date,
  terminalWidth: number,
  { gap, minWidth }: Layout = GET,
): Column<Row>[] {
  const texts = new Map(columns.map(column => [column, rows.map(row => safeText(column.cell(row, now, Infinity)))]));
  const textsOf = (column: Column<Row>) => texts.get(column) ?? [];
  const natural = new Map(columns.map(column => [column, columnWidths(textsOf(column).map(text => [text]))[0] ?? 0]));
  const naturalOf = (column: Column<Row>) => natural.get(column) ?? 0;
  const isEmpty = (column: Column<Row>) =>
    rows.length > 0 && column.isText !== true && textsOf(column).every(text => text === '' || text === NONE);
  const isKnown = (column: Column<Row>) => rows.length > 0 && textsOf(column).every(text => text === column.known);
  let kept = columns;
  // A text goes below the row if it would displace columns.
  let isBelow = false;
  const widthOfText = (natural: number) => (isBelow ? 0 : Math.min(natural, LEAST_TEXT));

  /** The width of the kept columns if those selected by `isCut` are cut to `most`. */
  const taken = (isCut: (column: Column<Row>) => boolean, most: number) => {
    const mark = kept.length === columns.length ? '' : LEFT_OUT;
    const widths = kept.map((column, i) => {
      const header = column.header.length + (i === kept.length - 1 ? mark.length : 0);
      const width = column.isText ? widthOfText(naturalOf(column)) : naturalOf(column);
      return Math.max(header, minWidth, isCut(column) ? Math.min(width, most) : width);
    });
    return widths.reduce((total, width) => total + width, 0) + gap * (kept.length - 1);
  };
  const fitsWhole = () => taken(() => false, 0) <= terminalWidth;
  const leaveOutEmpty = () => {
    const empty = columns.filter(isEmpty).toSorted((a, b) => (b.rank ?? 0) - (a.rank ?? 0));
    for (const column of [...columns.filter(isKnown), ...empty]) {
      if (!fitsWhole() && kept.length > 1) kept = kept.filter(other => other !== column);
    }
  };

  leaveOutEmpty();
  if (!fitsWhole() && columns.some(({ isText }) => isText)) {
    [kept, isBelow] = [columns, true];
    leaveOutEmpty();
  }
  for (;;) {
    const highest = Math.max(...kept.map(({ rank = 0 }) => rank));
    const isCut = ({ cutFrom = -1 }: Column<Row>) => cutFrom >= highest;
    const rest = terminalWidth - taken(isCut, Infinity);
    // Unused width is kept for later rows.
    let most = Math.max(0, ...kept.filter(isCut).map(naturalOf)) + Math.max(rest, 0);
    while (most > LEAST_WIDTH && taken(isCut, most) > terminalWidth) most -= 1;
    most = Math.max(most, LEAST_WIDTH);
    const fits = taken(isCut, most) <= terminalWidth;
    // If it still does not fit, cutting names would only make them less readable.
    const cutsNow = (column: Column<Row>) => isCut(column) && (fits || column.isName !== true);
    const fitted = kept.map(column =>
      cutsNow(column) ? cutTo(column, Math.max(most, column.header.length), textsOf(column)) : column,
    );
    const isTold = fitted.every((column, i) => tells(column, kept[i], rows, now));
    if (highest === 0 || (fits && isTold)) {
      return kept.length === columns.length
        ? fitted
        : fitted.map(each => (each === fitted.at(-1) ? marked(each) : each));
    }
    kept = kept.filter(({ rank }) => rank !== highest);
  }
}

function marked<Row>(column: Column<Row>): Column<Row> {
  return { ...column, header: column.header + LEFT_OUT };
}

function cutTo<Row>(column: Column<Row>, width: number, texts: readonly string[]): Column<Row> {
  const shorten = column.isName ? cutNames(texts, width) : (text: string) => cut(text, width);
  return {
    ...column,
    cell: (row, at) => {
      const cell = column.cell(row, at, width);
      const text = shorten(safeText(cell));
      return typeof cell === 'string' ? text : { ...cell, text };
    },
  };
}

/** Whether different names are still different. */
function tells<Row>(shown: Column<Row>, whole: Column<Row> | undefined, rows: readonly Row[], now: Date): boolean {
  if (whole === undefined || shown === whole || whole.isName !== true) return true;
  const different = ({ cell }: Column<Row>) => new Set(rows.map(row => safeText(cell(row, now, Infinity)))).size;
  return different(shown) === different(whole);
}
