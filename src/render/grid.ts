/**
 * The tables of `describe`, as kubectl's: indented, dashes under the headers, columns two spaces apart. Laid out by
 * cli-table3, whose time grows with the square of the rows: for what people read, some dozens of them.
 */
import Table from 'cli-table3';
import { type Cell, printable } from './table.ts';

const INDENT = '  ';

const NO_CHARS = Object.fromEntries(
  ['', '-mid', '-left', '-right']
    .flatMap(suffix => [`top${suffix}`, `bottom${suffix}`, `mid${suffix}`])
    .concat('mid-mid', 'left', 'left-mid', 'right', 'right-mid', 'middle')
    .map(name => [name, '']),
);

/** Lines joined by newlines, without one at the end. */
export function renderGrid(columns: string[], rows: Cell[][]): string {
  const table = new Table({
    chars: NO_CHARS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  });
  const dashes = columns.map(column => '-'.repeat(column.length));
  table.push(...[columns, dashes, ...rows].map(row => row.map(printable)));
  const lines = table.toString().split('\n');
  return lines.map(line => `${INDENT}${line.trimEnd()}`).join('\n');
}
