/**
 * Printers of jsonpath and custom columns, byte for byte as kubectl's. For a terminal control characters are escaped, and
 * columns are padded by display width.
 */

import { NONE } from './cells.ts';
import type { Column } from './jsonpath/columns.ts';
import { evaluate } from './jsonpath/evaluate.ts';
import { goText } from './jsonpath/go-value.ts';
import type { Template } from './jsonpath/template.ts';
import { printCompactJson, printJson } from './printers.ts';
import { sanitizeLine, sanitizeText } from './sanitize.ts';
import { tabWriter } from './tab-writer.ts';
import { widthOf } from './width.ts';

/** Creates a printer, which gives the text of objects or of a List, newlines included. Throws JsonPathError. */
export type ObjectTemplate = () => (objects: readonly object[]) => string;

/** @param asJson prints the values of each part of the template as a JSON list */
export function jsonPathTemplate(template: Template, asJson: boolean, isTerminal: boolean): ObjectTemplate {
  const print = (object: object) => {
    const parts = evaluate(template, object);
    if (asJson) return parts.map(values => `${printJson(values)}\n`).join('');
    const text = parts.map(values => values.map(plainText).join(' ')).join('');
    return isTerminal ? sanitizeText(text) : text;
  };
  return () => objects => objects.map(print).join('');
}

/** Missing values are `<none>`. Only the first call prints the header. */
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
