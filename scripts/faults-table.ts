/** The table of docs/reliability.md that `npm run faults` writes. */
import type { RowResult } from '../test/fault/row.ts';

const HEADS = ['fault', 'how it is made', 'what holds', 'passed', 'date'];
const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
/** The first two cells. A cell may have `\|`. */
const nameOf = (row: string) => /^\| (.*?) \| (.*?) \| /.exec(row)?.slice(1, 3).join(': ') ?? '';

/**
 * The lines of the table, sorted by fault and how.
 * @param all the results of each round
 * @param before the former text: its rows are kept, except those that were measured
 * @param day as 2026-11-24
 */
export function faultsTable(all: readonly (readonly RowResult[])[], before: string, day: string): string[] {
  const rows = (all.at(-1) ?? []).map(row => {
    const isSame = ({ fault, how }: RowResult) => fault === row.fault && how === row.how;
    const passed = all.flat().filter(other => isSame(other) && other.passed).length;
    return line([row.fault, row.how, row.holds, `${passed}/${all.length}`, day]);
  });
  const former = before.split('\n').filter(each => each.startsWith('| ') && !/^\| (fault|---) \|/.test(each));
  const byName = new Map([...former, ...rows].map(row => [nameOf(row), row]));
  const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [line(HEADS), line(HEADS.map(() => '---')), ...sorted.map(([, row]) => row)];
}
