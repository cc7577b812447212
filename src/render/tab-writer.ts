/**
 * Go's tabwriter, which kubectl prints custom columns with. table.ts cannot stand in: here a tab or a form feed in a value
 * parts cells, a column is a run of lines that have it (elastic tab stops), and its width never shrinks.
 */
import { GET } from './table.ts';

interface Line {
  cells: string[];
  widths: number[];
}

/**
 * Returns the function that lays out a text; each ends with a newline.
 * @param widthOf a cell, in columns
 */
export function tabWriter(widthOf: (text: string) => number): (text: string) => string {
  const remembered: number[] = [];

  function measure(lines: Line[], column: number): void {
    const hasColumn = (line: Line | undefined) => line !== undefined && line.cells.length - 1 > column;
    for (let from = 0; from < lines.length; from++) {
      if (!hasColumn(lines[from])) continue;
      let to = from;
      while (hasColumn(lines[to])) to++;
      const block = lines.slice(from, to);
      const least = Math.max(GET.minWidth + GET.gap, remembered[column] ?? 0);
      const width = block.reduce((most, { cells }) => Math.max(most, widthOf(cells[column] ?? '') + GET.gap), least);
      remembered[column] = width;
      for (const line of block) line.widths[column] = width;
      measure(block, column + 1);
      from = to;
    }
  }

  return text => {
    const lines = sections(text).flatMap(section => {
      measure(section, 0);
      return section;
    });
    return lines
      .map(({ cells, widths }) => `${cells.map((cell, at) => pad(cell, widths[at], widthOf)).join('')}\n`)
      .join('');
  };
}

function pad(cell: string, width: number | undefined, widthOf: (text: string) => number): string {
  return width === undefined ? cell : cell + ' '.repeat(width - widthOf(cell));
}

/** A form feed ends all columns. */
function sections(text: string): Line[][] {
  const found: Line[][] = [[]];
  for (let start = 0; ; ) {
    const length = text.slice(start).search(/[\n\f]/);
    if (length < 0) return found;
    found.at(-1)?.push({ cells: text.slice(start, start + length).split(/[\t\v]/), widths: [] });
    if (text[start + length] === '\f') found.push([]);
    start += length + 1;
  }
}
