/** Bars of a few parts, in a width of so many characters. */
import type { Style } from '../render/style.ts';
import type { StyledText } from '../render/table.ts';

/** What nodes are, from the best: each kind has a sign of its own, so that a bar can be read without colour. */
export interface NodeCounts {
  /** Ready, and open to pods. */
  open: number;
  /** Ready and cordoned. */
  cordoned: number;
  notReady: number;
}

const [OPEN, CORDONED, NOT_READY] = ['█', '▒', '░'];

/** The nodes of a pool as a bar. A part that is there has a character at least, if the width has one for each. */
export function nodesBar({ open, cordoned, notReady }: NodeCounts, width: number, style: Style): StyledText {
  const [a = 0, b = 0, c = 0] = shares([open, cordoned, notReady], width);
  const text = OPEN.repeat(a) + CORDONED.repeat(b) + NOT_READY.repeat(c);
  return { text: text.padEnd(width), paint: shown => paintBar(shown, style) };
}

/** Paints the bar in a text, and leaves all else as it is. */
export function paintBar(text: string, style: Style): string {
  return text
    .replace(/█+/g, part => style.green(part))
    .replace(/▒+/g, part => style.yellow(part))
    .replace(/░+/g, part => style.red(part));
}

/** Whole numbers that add up to the width, in proportion to the counts; all zero when these are. */
export function shares(counts: readonly number[], width: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map(() => 0);
  const least = counts.filter(count => count > 0).length <= width ? 1 : 0;
  const parts = counts.map(count => (count === 0 ? 0 : Math.max(Math.round((count / total) * width), least)));
  // What rounding gave too much or too little, the largest part bears.
  const largest = parts.indexOf(Math.max(...parts));
  const sum = parts.reduce((a, b) => a + b, 0);
  parts[largest] = Math.max((parts[largest] ?? 0) + width - sum, 0);
  return parts;
}
