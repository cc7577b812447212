/** The tables of `describe`, in kubectl's layout: some dozens of rows, because cli-table3 takes quadratic time. */
import Table from 'cli-table3';
import { type Cell, DESCRIBE, paintAs, safeText, tablePrinter } from './table.ts';

export const GRID_INDENT = '  ';

const NO_CHARS = Object.fromEntries(
  ['', '-mid', '-left', '-right']
    .flatMap(suffix => [`top${suffix}`, `bottom${suffix}`, `mid${suffix}`])
    .concat('mid-mid', 'left', 'left-mid', 'right', 'right-mid', 'middle')
    .map(name => [name, '']),
);

/** Lines joined by newlines, without a final newline. @param terminalWidth the last column is wrapped to it */
export function renderGrid(header: string[], rows: Cell[][], terminalWidth?: number): string {
  const dashes = header.map(title => '-'.repeat(title.length));
  if (terminalWidth !== undefined)
    return tablePrinter(header, terminalWidth, { ...DESCRIBE, indent: GRID_INDENT })([dashes, ...rows]);
  const table = new Table({
    chars: NO_CHARS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': DESCRIBE.gap },
  });
  table.push(...[header, dashes, ...rows].map(row => row.map(cell => paintAs(cell, safeText(cell)))));
  const lines = table.toString().split('\n');
  return lines.map(line => `${GRID_INDENT}${line.trimEnd()}`).join('\n');
}
