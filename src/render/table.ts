/**
 * Plain columns as kubectl prints them: no borders, upper-case headers, columns three spaces apart, nothing after the
 * last one. Cells are made safe here, so no table can carry a cluster's escapes to the terminal.
 *
 * Widths are those of a terminal: wide characters and emoji count two, combining marks none.
 */
import { sanitizeLine } from './sanitize.ts';
import { PLAIN, widthOf } from './width.ts';

/** Colour goes beside the text, not into it: what is inside the text is escaped. */
export type Cell = string | { text: string; paint: (text: string) => string };

export interface TableOptions {
  /** Default true. */
  headers?: boolean;
  /** Columns two spaces apart, as `kubectl describe` has them; default three, as `kubectl get`. */
  dense?: boolean;
  /** Put before every line. */
  indent?: string;
}

/** As kubectl sets up Go's tabwriter; the width has the gap in it. */
export const GET = { gap: 3, minWidth: 6 };
const DESCRIBE = { gap: 2, minWidth: 0 };

/** Lines joined by newlines, without one at the end. Without headers and rows: the empty string. */
export function renderTable(columns: string[], rows: Cell[][], options: TableOptions = {}): string {
  return layOut(columns, rows, options).text;
}

/**
 * A table that goes on, for what follows a resource: the first call gives it as renderTable does, later ones give more
 * rows under it, without headers. Columns stay as wide as they were at first, as with kubectl; a cell that is wider is
 * not cut, it moves the rest of its line.
 */
export function growingTable(columns: string[], options: TableOptions = {}): (rows: Cell[][]) => string {
  let first: number[] | undefined;
  return rows => {
    if (first !== undefined) {
      const more = { ...options, headers: false };
      return rows.map(row => layOut(columns, [row], more, first).text).join('\n');
    }
    const { text, widths } = layOut(columns, rows, options);
    first = widths;
    return text;
  };
}

/** As it is printed: escaped, then coloured, and how much room it takes. Most is plain text, which takes its length. */
type Printed = string | { text: string; width: number };

/** A cell as it is printed. */
export function printable(cell: Cell): string {
  return textOf(printed(cell));
}

function printed(cell: Cell): Printed {
  if (typeof cell === 'string' && PLAIN.test(cell)) return cell;
  const text = safeText(cell);
  return { text: paintAs(cell, text), width: widthOf(text) };
}

/** What the cell says, escaped and without its colour. */
export function safeText(cell: Cell): string {
  return sanitizeLine(typeof cell === 'string' ? cell : cell.text);
}

/** The text in the colour of the cell, of which it is a part. */
export function paintAs(cell: Cell, text: string): string {
  return typeof cell === 'string' ? text : cell.paint(text);
}

function textOf(cell: Printed): string {
  return typeof cell === 'string' ? cell : cell.text;
}

function widthIn(cell: Printed | undefined): number {
  return typeof cell === 'string' ? cell.length : (cell?.width ?? 0);
}

/** @param atLeast the widths below which no column is to fall, with the gap in them */
function layOut(columns: string[], rows: Cell[][], options: TableOptions, atLeast: number[] = []) {
  const { headers = true, dense = false, indent = '' } = options;
  const { gap, minWidth } = dense ? DESCRIBE : GET;
  const lines = (headers ? [columns, ...rows] : rows).map(row => row.map(printed));
  const widths = columns.map((_, column) =>
    lines.reduce((most, line) => Math.max(most, widthIn(line[column]) + gap), atLeast[column] ?? minWidth),
  );
  // Joined once: text that grows cell by cell would be made many times over, and tables have thousands of lines.
  const text: string[] = [];
  for (const line of lines) {
    if (text.length > 0) text.push('\n');
    text.push(indent);
    const last = line.findLastIndex(cell => textOf(cell).trimEnd() !== '');
    for (const [column, cell] of line.slice(0, Math.max(last, 0)).entries()) {
      text.push(textOf(cell), ' '.repeat(Math.max((widths[column] ?? 0) - widthIn(cell), 0)));
    }
    text.push(textOf(line[last] ?? '').trimEnd());
  }
  return { text: text.join(''), widths };
}
