/** Cells of the tables of `top`. */
import { formatQuantity, type Quantity } from '../../../nodepool/quantity/quantity.ts';
import { percentOf, type ResourceFigures, type ResourceTotals } from '../../../nodepool/quantity/resource-usage.ts';
import type { BarGlyphs } from '../../../print/bar.ts';
import { NONE, shorten } from '../../../print/cells.ts';
import { displayQuantity } from '../../../print/quantity.ts';
import type { Style } from '../../../print/style.ts';
import type { Cell } from '../../../print/table.ts';

export interface TopTableOptions {
  headers: boolean;
  /** Also show extended resources that a pool or a node does not have. */
  everyResource: boolean;
  /** Undefined in a pipe, which gets every column and no bars. */
  terminal: { columns: number; glyphs: BarGlyphs } | undefined;
  /** Node labels with a column each. */
  labelColumns?: readonly string[];
}

/** Maximum characters of an amount: a huge quantity has thousands of digits. */
const MAX_AMOUNT_WIDTH = 24;
/** Percent of allocatable. */
const [FILLING, FULL] = [80, 95];

/** Schedulable nodes out of all nodes. */
export function nodesCell({ schedulable, nodes }: ResourceTotals): string {
  return `${schedulable}/${nodes}`;
}

/** `42/110`: the pods on the nodes, and how many they can run. */
export function podsCell({ requested, allocatable }: ResourceFigures): string {
  return `${amount(requested, 'pods')}/${amount(allocatable, 'pods')}`;
}

export function amount(quantity: Quantity | undefined, resource: string): string {
  return quantity === undefined ? NONE : shorten(displayQuantity(resource, formatQuantity(quantity)), MAX_AMOUNT_WIDTH);
}

/** Truncated to whole percents, as in `kubectl describe node`. */
export function percentCell(figures: ResourceFigures, measure: Parameters<typeof percentOf>[1], style: Style): Cell {
  const percent = percentOf(figures, measure);
  return percent === undefined ? NONE : { text: `${Math.trunc(percent)}%`, paint: fillPaint(percent, style) };
}

export function fillPaint(percent: number, style: Style): (text: string) => string {
  if (percent >= FULL) return style.red;
  return percent >= FILLING ? style.yellow : style.green;
}
