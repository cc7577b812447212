/** Draws a terminal's lines as an SVG that looks the same in every font: bars are shapes, text has a fixed width. */
import { widthOf } from '../../src/print/width.ts';
import type { Color, Look, Run } from './cells.ts';

interface Picture {
  /** The command line. */
  title: string;
  /** Alternative text. */
  description: string;
  /** Of the terminal. */
  columns: number;
  lines: readonly Run[][];
}

const [CELL, LINE] = [8.4, 18];
/** Around the cells; the title bar; from the top of a line to its baseline. */
const [PADDING, TITLE, BASE] = [16, 36, 13];

/** Black, red, green, yellow, blue, magenta, cyan, white, and their bright variants; all readable on the background. */
const PALETTE =
  '#0d1117 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 #6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #e6edf3'.split(
    ' ',
  );
const [GROUND, TEXT, EDGE] = ['#0d1117', '#e6edf3', '#30363d'];

const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace';
const STYLE = `text { font: 14px ${FONT}; white-space: pre; } .bold { font-weight: 700; } .dim { fill-opacity: 0.6; } .title { fill: #9198a1; font-size: 13px; }`;

/** Block characters, which join into one bar, and the text between them. */
const PIECES = /([█▒░▓─])\1*|[▉-▏]|[^█▉-▏░▒▓─\s]+(?: [^█▉-▏░▒▓─\s]+)*/g;
const SHADES: Readonly<Record<string, number>> = { '░': 0.25, '▒': 0.5, '▓': 0.75 };
const FULL_BLOCK = 0x2588;

export function drawPicture({ title, description, columns, lines }: Picture): string {
  const width = round(columns * CELL + 2 * PADDING);
  const height = TITLE + lines.length * LINE + 2 * PADDING;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" fill="${TEXT}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${GROUND}" stroke="${EDGE}"/>`,
    `<path d="M0.5 ${TITLE}H${width - 0.5}" stroke="${EDGE}"/>`,
    `<text class="title" x="${PADDING}" y="23">$ ${escaped(title)}</text>`,
    ...lines.flatMap((runs, row) => runs.flatMap(run => drawRun(run, TITLE + PADDING + row * LINE))),
    '</svg>\n',
  ].join('\n');
}

function drawRun(run: Run, top: number): string[] {
  const left = PADDING + run.column * CELL;
  const fill = run.color === 'default' ? '' : ` fill="${hex(run.color)}"`;
  const ground =
    run.ground === 'default'
      ? []
      : [`<rect${box(left, top, widthOf(run.text) * CELL, LINE)} fill="${hex(run.ground)}"/>`];
  const pieces = [...run.text.matchAll(PIECES)].map(({ 0: piece, index }) => {
    const x = left + widthOf(run.text.slice(0, index)) * CELL;
    return drawBlocks(piece, x, top, fill) ?? drawText(piece, x, top, fill, run);
  });
  return [...ground, ...pieces];
}

/** Undefined for text. */
function drawBlocks(piece: string, x: number, top: number, fill: string): string | undefined {
  const [first = ''] = piece;
  const width = piece.length * CELL;
  if (first === '─') return `<rect${box(x, top + LINE / 2, width, 1)}${fill}/>`;
  const shade = SHADES[first];
  // Slightly lower than the line, so that bars of two lines do not touch.
  if (shade !== undefined) return `<rect${box(x, top + 2, width, LINE - 4)}${fill} fill-opacity="${shade}"/>`;
  const eighths = FULL_BLOCK + 8 - (first.codePointAt(0) ?? 0);
  if (eighths < 1 || eighths > 8) return undefined;
  return `<rect${box(x, top + 2, (width * eighths) / 8, LINE - 4)}${fill}/>`;
}

function drawText(piece: string, x: number, top: number, fill: string, { bold, dim }: Look): string {
  const classes = [...(bold ? ['bold'] : []), ...(dim ? ['dim'] : [])].join(' ');
  const look = classes === '' ? '' : ` class="${classes}"`;
  const width = round(widthOf(piece) * CELL);
  return `<text x="${round(x)}" y="${top + BASE}" textLength="${width}" lengthAdjust="spacingAndGlyphs"${look}${fill}>${escaped(piece)}</text>`;
}

function box(x: number, y: number, width: number, height: number): string {
  return ` x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${height}"`;
}

function hex(color: Exclude<Color, 'default'>): string {
  const found = PALETTE[color];
  if (found === undefined) throw new RangeError(`no colour ${color}`);
  return found;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
