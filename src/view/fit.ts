/** Text in so many columns of a terminal: never wider, escapes of a cluster made harmless first. */
import { sanitizeLine } from '../render/sanitize.ts';
import type { Cell } from '../render/table.ts';
import { widthOf } from '../render/width.ts';

const graphemes = new Intl.Segmenter();

/** As much of the text as there is room for, with an ellipsis where it was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width < 1 ? '' : `${head(text, width - 1)}…`;
}

/** The cell in exactly so many columns: escaped, cut, filled up, then painted. */
export function fit(cell: Cell, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = cut(sanitizeLine(typeof cell === 'string' ? cell : cell.text), width);
  const room = ' '.repeat(Math.max(width - widthOf(shown), 0));
  const painted = typeof cell === 'string' ? shown : cell.paint(shown);
  return align === 'right' ? room + painted : painted + room;
}

/** The text over as many lines as it takes, broken at spaces where there are any. At least one line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = sanitizeLine(text);
  while (widthOf(rest) > width && width > 0) {
    const most = head(rest, width) || (graphemes.segment(rest).containing(0)?.segment ?? rest);
    const space = rest.charAt(most.length) === ' ' ? most.length : most.lastIndexOf(' ');
    const line = space > 0 ? rest.slice(0, space) : most;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return rest === '' && lines.length > 0 ? lines : [...lines, rest];
}

/** What of the text fits, whole characters alone. A line of a screen is short: what is far behind is not looked at. */
function head(text: string, width: number): string {
  let [taken, used] = ['', 0];
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment);
    if (used > width) break;
    taken += segment;
  }
  return taken;
}
