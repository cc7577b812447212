/**
 * Plain columns as kubectl prints them: no borders, upper-case headers, columns three spaces apart, nothing after the
 * last one. Cells are made safe here, so no table can carry a cluster's escapes to the terminal.
 *
 * Widths are those of a terminal (wide characters and emoji count two) as cli-table3 measures them.
 */
import Table from 'cli-table3';
import { sanitizeLine } from './sanitize.ts';

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

const GET = { gap: 3, minWidth: 6 };
const DESCRIBE = { gap: 2, minWidth: 0 };

/** Rows handed to cli-table3 at once: its layout takes time with the square of the rows. */
const BATCH = 20;

const NO_CHARS = Object.fromEntries(
  ['', '-mid', '-left', '-right']
    .flatMap(suffix => [`top${suffix}`, `bottom${suffix}`, `mid${suffix}`])
    .concat('mid-mid', 'left', 'left-mid', 'right', 'right-mid', 'middle')
    .map(name => [name, '']),
);

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

/** @param atLeast the widths below which no column is to fall */
function layOut(columns: string[], rows: Cell[][], options: TableOptions, atLeast: number[] = []) {
  const { headers = true, dense = false, indent = '' } = options;
  // As kubectl sets up Go's tabwriter; the width has the gap in it.
  const { gap, minWidth } = dense ? DESCRIBE : GET;
  const lines = (headers ? [columns, ...rows] : rows).map(row => row.map(printable));
  const batches: string[][][] = [];
  for (let at = 0; at < lines.length; at += BATCH) batches.push(lines.slice(at, at + BATCH));

  const widths = columns.map((_, column) => atLeast[column] ?? minWidth);
  for (const batch of batches) {
    for (const [column, width] of measure(batch, gap).entries()) {
      widths[column] = Math.max(widths[column] ?? 0, width);
    }
  }
  const drawn = batches.flatMap(batch => draw(batch, gap, widths));
  return { text: drawn.map(line => `${indent}${line}`).join('\n'), widths };
}

/** The cell as it is printed: escaped, then coloured. */
function printable(cell: Cell): string {
  return typeof cell === 'string' ? sanitizeLine(cell) : cell.paint(sanitizeLine(cell.text));
}

function measure(batch: string[][], gap: number): number[] {
  const table = plainTable(batch, gap, []);
  // Drawing leaves the widths it found in the options.
  table.toString();
  return table.options.colWidths.map(width => width ?? 0);
}

function draw(batch: string[][], gap: number, widths: number[]): string[] {
  return plainTable(batch, gap, [...widths])
    .toString()
    .split('\n')
    .map(line => line.trimEnd());
}

function plainTable(batch: string[][], gap: number, colWidths: number[]) {
  const table = new Table({
    chars: NO_CHARS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
    colWidths,
  });
  table.push(...batch);
  return table;
}
