/** Prints byte for byte like kubectl. For a terminal, escapes control characters and pads columns by display width. */
import { NONE } from './cells.ts';
import { evaluate, goText } from './jsonpath/evaluate.ts';
import { relaxedTemplate } from './jsonpath/parse.ts';
import { checkTemplateLength, JsonPathError, type Template } from './jsonpath/template.ts';
import { printCompactJson, printJson } from './printers.ts';
import { sanitizeLine, sanitizeText } from './sanitize.ts';
import { GET } from './table.ts';
import { widthOf } from './width.ts';

/** Creates a printer, which returns the text of objects or of a List, with newlines. Throws JsonPathError. */
export type ObjectTemplate = () => (objects: readonly object[]) => string;

/** @param asJson print the values of each part of the template as a JSON list */
export function jsonPathTemplate(template: Template, asJson: boolean, isTerminal: boolean): ObjectTemplate {
  const print = (object: object) => {
    const parts = evaluate(template, object);
    if (asJson) return parts.map(values => `${printJson(values)}\n`).join('');
    const text = parts.map(values => values.map(plainText).join(' ')).join('');
    return isTerminal ? sanitizeText(text) : text;
  };
  return () => objects => objects.map(print).join('');
}

/** Missing values become `<none>`. Only the first call prints the header. */
export function columnsTemplate(columns: Column[], headers: boolean, isTerminal: boolean): ObjectTemplate {
  const cellText = isTerminal ? sanitizeLine : escapeAsKubectl;
  const line = (cells: string[]) => `${cells.join('\t')}\n`;
  const row = (object: unknown) => line(columns.map(({ template }) => cell(evaluate(template, object), cellText)));
  return () => {
    const layOut = tabWriter(isTerminal ? widthOf : text => [...text].length);
    let header = headers ? line(columns.map(column => column.header)) : '';
    return objects => {
      const text = header + objects.flatMap(itemsOf).map(row).join('');
      header = '';
      return layOut(text);
    };
  };
}

function plainText(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? printCompactJson(value) : goText(value);
}

function cell(parts: unknown[][], cellText: (text: string) => string): string {
  const texts = parts.flat().map(value => cellText(goText(value)));
  const isMissing = parts[0] === undefined || parts[0].length === 0;
  return [...(isMissing ? [NONE] : []), ...texts].join(',');
}

function itemsOf(object: object): unknown[] {
  return 'items' in object && Array.isArray(object.items) ? object.items : [object];
}

function escapeAsKubectl(text: string): string {
  return text.replaceAll('\x1b', '^[').replaceAll('\r', '\\r');
}

// Go's tabwriter, which kubectl uses for custom columns. Unlike in table.ts, a tab or a form feed in a value separates
// cells, a column is a run of lines that have it (elastic tab stops), and its width never shrinks.

interface TextLine {
  cells: string[];
  widths: number[];
}

/** Returns a function that lays out text; each text ends with a newline. @param widthOf width of a cell in columns */
export function tabWriter(widthOf: (text: string) => number): (text: string) => string {
  const remembered: number[] = [];

  function measure(lines: TextLine[], column: number): void {
    const hasColumn = (line: TextLine | undefined) => line !== undefined && line.cells.length - 1 > column;
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
function sections(text: string): TextLine[][] {
  const found: TextLine[][] = [[]];
  for (let start = 0; ; ) {
    const length = text.slice(start).search(/[\n\f]/);
    if (length < 0) return found;
    found.at(-1)?.push({ cells: text.slice(start, start + length).split(/[\t\v]/), widths: [] });
    if (text[start + length] === '\f') found.push([]);
    start += length + 1;
  }
}

// The specification of `custom-columns`: a header and a path for each column.

interface Column {
  header: string;
  template: Template;
}

/** `NAME:.metadata.name,STATUS:.status.status`. As in kubectl, a path cannot contain a comma. @throws JsonPathError */
export function parseColumns(spec: string): Column[] {
  checkTemplateLength(spec);
  return spec.split(',').map(part => {
    const colon = part.indexOf(':');
    if (colon < 0) {
      throw new JsonPathError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`);
    }
    return { header: part.slice(0, colon), template: relaxedTemplate(part.slice(colon + 1)) };
  });
}

/** A line of headers and a line of paths, each separated by spaces. @throws JsonPathError */
export function parseColumnsFile(text: string): Column[] {
  checkTemplateLength(text);
  // A final newline does not start another line.
  const lines = text.replace(/\n$/, '').split('\n', 2);
  const [headers, paths] = lines.map(line => line.split(/\s+/).filter(word => word !== ''));
  if (text === '' || headers === undefined) throw incomplete('header');
  if (paths === undefined) throw incomplete('spec');
  if (headers.length !== paths.length) {
    throw new JsonPathError(
      `number of headers (${headers.length}) and field specifications (${paths.length}) don't match`,
    );
  }
  return headers.map((header, index) => ({ header, template: relaxedTemplate(paths[index] ?? '') }));
}

function incomplete(line: string): JsonPathError {
  return new JsonPathError(
    `invalid template, missing ${line} line. Expected format is one line of space separated headers, one line of space separated column specs.`,
  );
}
