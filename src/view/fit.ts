/** Text in so many columns of a terminal: never wider, escapes of a cluster made harmless first. */
import { sanitizeLine } from '../render/sanitize.ts';
import { type Cell, paintAs, safeText } from '../render/table.ts';
import { widthOf } from '../render/width.ts';

const graphemes = new Intl.Segmenter();
/** UTF-16 units that stand in one column at most: a family of emoji has 25 in two. */
const MOST_UNITS = 64;

/** As much of the text as there is room for, with an ellipsis where it was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width < 1 ? '' : `${head(text, width - 1)}…`;
}

/** The cell in exactly so many columns: escaped, cut, filled up, then painted. */
export function fit(cell: Cell, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = cut(safeText(cell), width);
  const room = ' '.repeat(Math.max(width - widthOf(shown), 0));
  const painted = paintAs(cell, shown);
  return align === 'right' ? room + painted : painted + room;
}

/** The text over as many lines as it takes, broken at spaces where there are any. At least one line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = sanitizeLine(text);
  while (width > 0) {
    const most = head(rest, width) || (graphemes.segment(rest).containing(0)?.segment ?? rest);
    if (most === rest) break;
    const space = rest.charAt(most.length) === ' ' ? most.length : most.lastIndexOf(' ');
    const line = space > 0 ? rest.slice(0, space) : most;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return rest === '' && lines.length > 0 ? lines : [...lines, rest];
}

/** What of the text fits, whole characters alone. What is far behind is not looked at: the text may be a megabyte. */
function head(text: string, width: number): string {
  let [taken, used] = ['', 0];
  for (const { segment } of graphemes.segment(text.slice(0, width * MOST_UNITS))) {
    used += widthOf(segment);
    if (used > width) break;
    taken += segment;
  }
  return taken;
}
