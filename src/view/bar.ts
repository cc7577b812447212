/** Bars of the nodes of a pool. */
import type { Style } from '../print/style.ts';
import type { StyledText } from '../print/table.ts';

/** Nodes by state; each state has a glyph of its own, so that a bar can be read without colour. */
export interface NodeCounts {
  /** Ready and schedulable. */
  schedulable: number;
  /** Ready and cordoned. */
  cordoned: number;
  notReady: number;
}

const [SCHEDULABLE, CORDONED, NOT_READY] = ['█', '▒', '░'];

/** A state with nodes has at least one character, if there is room for all of them. */
export function nodesBar({ schedulable, cordoned, notReady }: NodeCounts, width: number, style: Style): StyledText {
  const [a = 0, b = 0, c = 0] = shares([schedulable, cordoned, notReady], width);
  const text = SCHEDULABLE.repeat(a) + CORDONED.repeat(b) + NOT_READY.repeat(c);
  return { text: text.padEnd(width), paint: shown => paintBar(shown, style) };
}

/** Paints the glyphs of bars in a text. */
export function paintBar(text: string, style: Style): string {
  return text
    .replace(/█+/g, part => style.green(part))
    .replace(/▒+/g, part => style.yellow(part))
    .replace(/░+/g, part => style.red(part));
}

/** Whole numbers in proportion to the counts that add up to the width; all zero if the counts are. */
export function shares(counts: readonly number[], width: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map(() => 0);
  const least = counts.filter(count => count > 0).length <= width ? 1 : 0;
  const parts = counts.map(count => (count === 0 ? 0 : Math.max(Math.round((count / total) * width), least)));
  // The largest part takes the rounding error.
  const largest = parts.indexOf(Math.max(...parts));
  const sum = parts.reduce((a, b) => a + b, 0);
  parts[largest] = Math.max((parts[largest] ?? 0) + width - sum, 0);
  return parts;
}
