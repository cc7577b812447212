/** A list on the screen: sorted, filtered, and as many of its columns as the width has room for. */
import type { Style } from '../render/style.ts';
import { type Cell, safeText } from '../render/table.ts';
import { widthOf } from '../render/width.ts';
import type { Column } from './columns.ts';
import { cut, fit } from './fit.ts';
import type { Sort } from './state.ts';

interface Keyed {
  key: string;
}

export interface ListOptions {
  /** Key of the row that is marked. */
  selected: string | undefined;
  sort: Sort;
  /** Of the screen. */
  width: number;
  now: Date;
  style: Style;
}

const GAP = 1;
/** In front of each row; of the selected one it has the mark. */
const [MARK, NO_MARK] = ['>', ' '];
/** A column that gives is cut to the first before others go, and to the second before others are cut. */
const [NARROW, SHORT] = [24, 10];

/** The rows whose cells have the text in them, in whatever case; `!` in front means those that do not. */
export function select<Row extends Keyed>(
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
export function listLines<Row extends Keyed>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { selected, sort, width, now, style }: ListOptions,
): { header: string; lines: string[] } {
  const titles = columns.map(({ title, letter, align }) => {
    const arrow = letter !== sort.by ? '' : sort.descending ? '↓' : '↑';
    return align === 'right' ? arrow + title : title + arrow;
  });
  const cells = rows.map(row => columns.map(column => column.cell(row, now)));
  const natural = columns.map(({ title }, column) =>
    cells.reduce((most, line) => Math.max(most, widthOf(safeText(line[column] ?? ''))), title.length),
  );
  const widths = fitWidths(
    columns,
    // The arrow has a place of its own, so that nothing moves with it.
    natural.map(each => each + 1),
    width - MARK.length,
  );
  const line = (mark: string, texts: readonly Cell[]) => {
    const shown = columns.flatMap(({ align }, i) => {
      const room = widths[i];
      return room === undefined ? [] : [fit(texts[i] ?? '', room, align)];
    });
    return mark + shown.join(' '.repeat(GAP));
  };
  return {
    header: cut(line(NO_MARK, titles), width),
    lines: rows.map((row, i) => {
      const texts = cells[i] ?? [];
      // What is inverted has no colours of its own.
      if (row.key === selected) return style.inverse(style.bold(fit(line(MARK, texts.map(safeText)), width)));
      return line(NO_MARK, texts);
    }),
  };
}

/** Of each column, undefined when it goes. At last what is left is cut. */
function fitWidths(
  columns: readonly Column<never>[],
  natural: readonly number[],
  width: number,
): (number | undefined)[] {
  const widths: (number | undefined)[] = [...natural];
  const taken = () => {
    const left = widths.filter(each => each !== undefined);
    return left.reduce((sum, each) => sum + each, 0) + Math.max(left.length - 1, 0) * GAP;
  };
  const shrink = (column: number, least: number) => {
    const before = widths[column];
    if (before !== undefined) widths[column] = Math.max(Math.min(before, least), before - Math.max(taken() - width, 0));
  };
  const gives = columns.findIndex(column => column.gives === true);
  shrink(gives, NARROW);
  const byRank = columns.map(({ rank }, i) => ({ rank, i })).sort((a, b) => b.rank - a.rank || b.i - a.i);
  for (const { rank, i } of byRank) if (rank > 0 && taken() > width) widths[i] = undefined;
  // A column that went may have left more room than was missing.
  const before = natural[gives];
  if (before !== undefined) widths[gives] = before;
  shrink(gives, SHORT);
  for (const { i } of byRank) if (i !== gives) shrink(i, 1);
  shrink(gives, 1);
  return taken() > width ? columns.map((_, i) => (i === gives ? Math.max(width, 0) : undefined)) : widths;
}

function order(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
