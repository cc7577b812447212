/** Reads a terminal's cells as runs of text with the same style. */
import type { IBuffer, IBufferCell } from '@xterm/headless';

/** One of the 16 terminal colours, or the default. */
export type Color = number | 'default';

export interface Look {
  color: Color;
  ground: Color;
  bold: boolean;
  dim: boolean;
}

export interface Run extends Look {
  /** 0-based. */
  column: number;
  text: string;
}

/** The lines without trailing empty ones. Throws when lines were scrolled out, or for colours beyond the 16. */
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

/** The palette colours that replace the default colours in inverse video. */
const [DARKEST, BRIGHTEST] = [0, 15];

function colorOf(isDefault: boolean, isPalette: boolean, color: number): Color {
  if (isDefault) return 'default';
  if (!isPalette || color > 15) throw new Error('a colour that is none of the 16');
  return color;
}

function isAlike(a: Look, b: Look): boolean {
  return a.color === b.color && a.ground === b.ground && a.bold === b.bold && a.dim === b.dim;
}
