/** A list on the screen: sorted, filtered, with as many columns as fit. */
import type { Style } from '../print/style.ts';
import { type Cell, columnWidths, fit, safeText } from '../print/table.ts';
import { cut } from '../print/width.ts';
import type { Column } from './column.ts';
import type { Sort } from './places.ts';

export interface ListOptions {
  /** Key of the selected row. */
  selected: string | undefined;
  sort: Sort;
  /** Of the screen. */
  width: number;
  now: Date;
  style: Style;
}

const GAP = ' ';
/** In front of the selected row, and of the others. */
const [MARK, NO_MARK] = ['>', ' '];
/** A column that shrinks is cut to this before others are cut. */
const SHORT = 10;

/** The rows with a cell that contains the filter, whatever the case; with `!` in front, the rows without one. */
export function select<Row extends { key: string }>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { filter, sort, now }: { filter: string; sort: Sort; now: Date },
): Row[] {
  const isInverse = filter.startsWith('!');
  const wanted = filter.slice(isInverse ? 1 : 0).toLowerCase();
  const isShown = (row: Row) =>
    wanted === '' ||
    columns.some(column => safeText(column.cell(row, now)).toLowerCase().includes(wanted)) !== isInverse;
  const by = columns.find(({ letter }) => letter === sort.by) ?? columns[0];
  const found = rows.filter(isShown).map(row => ({ row, value: by?.value(row) ?? 0 }));
  const sign = sort.descending ? -1 : 1;
  found.sort((a, b) => sign * order(a.value, b.value) || order(a.row.key, b.row.key));
  return found.map(({ row }) => row);
}

/** The header and a line for each row, none wider than the width. */
export function listLines<Row extends { key: string }>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { selected, sort, width, now, style }: ListOptions,
): { header: string; lines: string[] } {
  const titles = columns.map(({ title, letter, align }) => {
    const arrow = letter !== sort.by ? '' : sort.descending ? '↓' : '↑';
    return align === 'right' ? arrow + title : title + arrow;
  });
  const cells = rows.map(row => columns.map(column => column.cell(row, now)));
  // The arrow has a place of its own, so that nothing moves with it.
  const natural = columnWidths([columns.map(({ title }) => title), ...cells]).map(each => each + 1);
  const widths = fitWidths(columns, natural, width - MARK.length);
  const line = (mark: string, texts: readonly Cell[]) => {
    const shown = columns.flatMap(({ align }, i) => {
      const room = widths[i];
      return room === undefined ? [] : [fit(texts[i] ?? '', room, align)];
    });
    return mark + shown.join(GAP);
  };
  return {
    header: cut(line(NO_MARK, titles), width),
    lines: rows.map(({ key }, i) => {
      const texts = cells[i] ?? [];
      // The inverted row has no other colours.
      return key === selected
        ? style.inverse(style.bold(fit(line(MARK, texts.map(safeText)), width)))
        : line(NO_MARK, texts);
    }),
  };
}

/** The width of each column; undefined drops it. Where dropping is not enough, the others are cut. */
function fitWidths(
  columns: readonly Column<never>[],
  natural: readonly number[],
  width: number,
): (number | undefined)[] {
  const widths: (number | undefined)[] = [...natural];
  const taken = () => {
    const left = widths.filter(each => each !== undefined);
    return left.reduce((sum, each) => sum + each, 0) + Math.max(left.length - 1, 0) * GAP.length;
  };
  const shrink = (column: number, least: number) => {
    const before = widths[column];
    if (before !== undefined) widths[column] = Math.max(Math.min(before, least), before - Math.max(taken() - width, 0));
  };
  const shrinking = columns.findIndex(column => column.shrinks !== undefined);
  shrink(shrinking, columns[shrinking]?.shrinks ?? 0);
  const byRank = columns.map(({ rank }, i) => ({ rank, i })).sort((a, b) => b.rank - a.rank || b.i - a.i);
  for (const { rank, i } of byRank) if (rank > 0 && taken() > width) widths[i] = undefined;
  // A dropped column may have left more room than was missing.
  const before = natural[shrinking];
  if (before !== undefined) widths[shrinking] = before;
  shrink(shrinking, SHORT);
  for (const { i } of byRank) if (i !== shrinking) shrink(i, 1);
  shrink(shrinking, 1);
  return taken() > width ? columns.map((_, i) => (i === shrinking ? Math.max(width, 0) : undefined)) : widths;
}

function order(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
