/** The layout of all tables except object-template.ts and grid.ts. Escapes cells. */
import { sanitizeLine } from './sanitize.ts';
import { cut, PLAIN, widthOf, wrap, wrapWords } from './width.ts';

/** The colour is separate from the text, because escapes in the text are made visible. */
export interface StyledText {
  text: string;
  paint: (text: string) => string;
}

export type Cell = string | StyledText;

export interface Layout {
  /** Number of spaces between two columns. */
  gap: number;
  /** Minimum width of a column. */
  minWidth: number;
  /** Precedes every line. */
  indent?: string;
}

/** The layout of `kubectl get`, whose tabwriter has a minwidth of 6, including a padding of 3. */
export const GET: Layout = { gap: 3, minWidth: 3 };
/** The layout of `kubectl describe`. */
export const DESCRIBE: Layout = { gap: 2, minWidth: 0 };

/** A text goes below the other columns if less width is left beside them. */
export const LEAST_TEXT = 60;
export const BELOW_INDENT = '  ';

/**
 * Lines joined by newlines, without a final newline. Nothing is cut; trailing spaces are trimmed.
 * @param rows includes the header, if there is one, as first row
 * @param terminalWidth the last column is wrapped to it
 * @param widths of the columns, if the rows are a part of a table
 * @param others rows of the table that are rendered elsewhere: either all texts go beside the other columns, or none
 */
export function renderTable(
  rows: Cell[][],
  layout: Layout = GET,
  terminalWidth = Infinity,
  widths = columnWidths(rows, layout.minWidth),
  others: Cell[][] = [],
): string {
  return renderRows(rows, widths, layout, terminalWidth, [...rows, ...others]);
}

/** Like kubectl's TablePrinter: later rows keep the widths of the first. @param terminalWidth wraps the last column */
export function tablePrinter(
  header: string[] | undefined,
  terminalWidth = Infinity,
  layout = GET,
): (rows: Cell[][]) => string {
  let widths: number[] | undefined;
  return rows => {
    const all = widths === undefined && header !== undefined ? [header, ...rows] : rows;
    widths ??= columnWidths(all, layout.minWidth);
    return renderRows(all, widths, layout, terminalWidth, []);
  };
}

/** @param together rows whose texts all go beside the other columns, or all below */
function renderRows(
  rows: Cell[][],
  widths: number[],
  { gap, indent = '' }: Layout,
  terminalWidth: number,
  together: Cell[][],
): string {
  const between = ' '.repeat(gap);
  const lineOf = (row: Cell[], texts: string[]) =>
    row.map((cell, column) => padded(cell, texts[column] ?? '', widths[column] ?? 0, 'left')).join(between);
  const roomOf = (row: Cell[]) =>
    terminalWidth - widths.slice(0, row.length - 1).reduce((sum, width) => sum + width + gap, indent.length);
  const isTooLong = (row: Cell[]) => {
    const room = roomOf(row);
    const text = safeText(row.at(-1) ?? '');
    if (row.length < 2 || widthOf(text) <= room) return false;
    // A name is not broken if it fits on a line of its own.
    return room < LEAST_TEXT || text.split(' ').some(word => widthOf(word) > room);
  };
  const wrapped = (text: string, width: number) =>
    wrapWords(text, width).flatMap(line => (widthOf(line) > width ? breakWords(line, width) : [line]));
  const areBelow = terminalWidth !== Infinity && together.some(isTooLong);
  const lines = rows.flatMap(row => {
    const texts = row.map(safeText);
    if (terminalWidth === Infinity) return [lineOf(row, texts)];
    const last = row.length - 1;
    const text = texts[last] ?? '';
    const blank = texts.map(() => '');
    if (areBelow || isTooLong(row)) {
      const below = wrapped(text, terminalWidth - indent.length - BELOW_INDENT.length);
      const [cell = ''] = row.slice(-1);
      const head = texts.slice(0, last).some(each => each !== '') ? [lineOf(row, texts.with(last, ''))] : [];
      return [...head, ...below.filter(Boolean).map(line => BELOW_INDENT + paintAs(cell, line))];
    }
    return wrapped(text, roomOf(row)).map((part, i) => lineOf(row, (i === 0 ? texts : blank).with(last, part)));
  });
  return lines.map(line => indent + line.trimEnd()).join('\n');
}

/** Splits a line with words longer than the width into more lines with the same indentation. */
function breakWords(line: string, room: number): string[] {
  const [lead = ''] = /^ */.exec(line) ?? [];
  return wrap(line.slice(lead.length), Math.max(room - lead.length, 1)).map(part => lead + part);
}

export function columnWidths(rows: readonly (readonly Cell[])[], minWidth = 0): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (let column = 0; column < row.length; column++)
      widths[column] = Math.max(widths[column] ?? minWidth, widthOf(safeText(row[column] ?? '')));
  }
  return widths;
}

/** The total width of the columns, each with its gap. */
export function takenWidth(rows: Cell[][], { gap, minWidth }: Layout): number {
  return columnWidths(rows, minWidth).reduce((sum, width) => sum + width + gap, 0);
}

/** The cell in exactly this many terminal columns: escaped, cut, painted and padded. */
export function fit(cell: Cell, width: number, align: 'left' | 'right' = 'left'): string {
  return padded(cell, cut(safeText(cell), width), width, align);
}

function padded(cell: Cell, text: string, width: number, align: 'left' | 'right'): string {
  const spaces = ' '.repeat(Math.max(width - widthOf(text), 0));
  return align === 'right' ? spaces + paintAs(cell, text) : paintAs(cell, text) + spaces;
}

/** The escaped text of a cell, without colour. */
export function safeText(cell: Cell): string {
  const text = typeof cell === 'string' ? cell : cell.text;
  return PLAIN.test(text) ? text : sanitizeLine(text);
}

/** A part of the cell's text in the cell's colour. */
export function paintAs(cell: Cell, text: string): string {
  return typeof cell === 'string' ? text : cell.paint(text);
}
