/** Pieces of the report: tables, times, how many more. */

import { sanitizeLine } from '../../print/sanitize.ts';
import type { Some } from './run.ts';

export interface Column<Row> {
  header: string;
  cell: (row: Row) => string | number | Html;
  /** Of names and texts, which may be long, and of numbers. */
  kind?: 'name' | 'text' | 'number';
}

/** Rows of a table that is kept on one page of paper. */
const SHORT = 15;

/** A table with its caption; the first column has the header of each row. Without rows a sentence. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  { items, total }: Some<Row>,
  nothing: string,
): Html {
  if (items.length === 0) return html`<p class="none">${nothing}</p>`;
  const [first, ...others] = columns;
  if (first === undefined) return html``;
  const rowOf = (row: Row) =>
    html`<tr><th scope="row" class="${first.kind ?? ''}">${first.cell(row)}</th>${others.map(
      ({ kind = '', cell }) => html`<td class="${kind}">${cell(row)}</td>`,
    )}</tr>\n`;
  const more = total - items.length;
  return html`<div class="${items.length > SHORT ? 'scroll' : 'scroll short'}" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map(({ header, kind = '' }) => html`<th scope="col" class="${kind}">${header}</th>`)}</tr></thead>
<tbody>
${items.map(rowOf)}</tbody>
</table></div>
${more > 0 ? html`<p>… and ${more} more, of ${total}.</p>` : ''}`;
}

/** `2026-11-21 06:00 UTC`; text that is no time stays as it is. */
export function time(when: string | undefined): Html {
  if (when === undefined || when === '') return html`<span class="dim">unknown</span>`;
  const date = new Date(when);
  if (Number.isNaN(date.getTime())) return html`${when.slice(0, 40)}`;
  return html`<time datetime="${date.toISOString()}">${shortTime(date)} UTC</time>`;
}

/** `2026-11-21 06:00`, in UTC. */
export function shortTime(date: Date): string {
  return date.toISOString().slice(0, 16).replace('T', ' ');
}

/** A share as a bar, beside a number that says the same: not for those who do not see it. */
export function bar(percent: number | undefined): Html | string {
  if (percent === undefined) return '';
  const width = Math.min(Math.max(percent, 0), 100).toFixed(1);
  return html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="back" width="100" height="4"/><rect class="normal" width="${width}" height="4"/></svg>`;
}

/** The word says it, and a sign; the colour only repeats it. */
export function mark(kind: 'good' | 'warn' | 'bad', text: string): Html {
  const sign = { good: '', warn: '▲ ', bad: '✖ ' }[kind];
  return html`<span class="${kind}">${sign === '' ? '' : html`<span aria-hidden="true">${sign}</span>`}${text}</span>`;
}

// A tagged template for HTML: every value is escaped, whoever wrote it, but what such a template made. The only place that
// decides on it.

/** What a template made: it is not escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | undefined | readonly Value[];

/** Attributes are to be quoted. Of a list the items follow each other; undefined is nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.map((string, at) => string + textOf(values[at])).join(''));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function textOf(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(textOf).join('');
  // What is not seen, or turns a line around, would forge a page as it would a terminal.
  return sanitizeLine(String(value)).replace(/[&<>"'`]/g, character => ENTITIES[character] ?? '');
}
