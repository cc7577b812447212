/** What stands in the cells of a terminal, as runs of one look each. */
import type { IBuffer, IBufferCell } from '@xterm/headless';

/** One of the 16 colours of a terminal, or its own. */
export type Color = number | 'default';

export interface Look {
  color: Color;
  ground: Color;
  bold: boolean;
  dim: boolean;
}

export interface Run extends Look {
  /** Where it begins, from 0. */
  column: number;
  text: string;
}

/** The lines from the first on, without empty ones at the end. Throws when lines have gone, or colours are none of the 16. */
export function readLines(buffer: IBuffer, rows: number): Run[][] {
  if (buffer.baseY > 0) throw new Error(`${buffer.baseY} lines are too many for the terminal`);
  const lines = Array.from({ length: rows }, (_, row) => readLine(buffer, row));
  return lines.slice(0, lines.findLastIndex(runs => runs.length > 0) + 1);
}

function readLine(buffer: IBuffer, row: number): Run[] {
  const line = buffer.getLine(row);
  const runs: Run[] = [];
  for (let column = 0; column < (line?.length ?? 0); column++) {
    const cell = line?.getCell(column);
    // The second half of a wide character.
    if (cell === undefined || cell.getWidth() === 0) continue;
    const look = lookOf(cell);
    const text = cell.getChars() || ' ';
    const last = runs.at(-1);
    if (last !== undefined && isAlike(last, look)) last.text += text;
    else runs.push({ ...look, column, text });
  }
  return runs.filter(({ text, ground }) => text.trim() !== '' || ground !== 'default');
}

function lookOf(cell: IBufferCell): Look {
  const color = colorOf(cell.isFgDefault(), cell.isFgPalette(), cell.getFgColor());
  const ground = colorOf(cell.isBgDefault(), cell.isBgPalette(), cell.getBgColor());
  const look = { bold: cell.isBold() !== 0, dim: cell.isDim() !== 0 };
  if (cell.isInverse() === 0) return { ...look, color, ground };
  const [inverse, under] = [ground === 'default' ? DARKEST : ground, color === 'default' ? BRIGHTEST : color];
  return { ...look, color: inverse, ground: under };
}

/** Of the 16: what a terminal's own two colours become where they are inverted. */
const [DARKEST, BRIGHTEST] = [0, 15];

function colorOf(isDefault: boolean, isPalette: boolean, color: number): Color {
  if (isDefault) return 'default';
  if (!isPalette || color > 15) throw new Error('a colour that is none of the 16');
  return color;
}

function isAlike(a: Look, b: Look): boolean {
  return a.color === b.color && a.ground === b.ground && a.bold === b.bold && a.dim === b.dim;
}
