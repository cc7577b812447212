/** Building blocks of the report page: tables, times, escaped HTML, the style sheet. */
import { sanitizeLine } from '../../print/sanitize.ts';
import type { ListExcerpt } from './run.ts';

export interface Column<Row> {
  header: string;
  cell: (row: Row) => string | number | Html;
  /** `name` and `text` may be long. */
  kind?: 'name' | 'text' | 'number';
}

/** Tables up to this many rows are not split across printed pages. */
const SHORT = 15;

/** A table with its caption; the first column has the row headers. Without rows, a sentence. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  { items, total }: ListExcerpt<Row>,
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

/** `2026-11-21 06:00 UTC`; a text that is no timestamp is returned unchanged. */
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

/** A percentage as a bar, next to its number; hidden from screen readers. */
export function bar(percent: number | undefined): Html | string {
  if (percent === undefined) return '';
  const width = Math.min(Math.max(percent, 0), 100).toFixed(1);
  return html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="back" width="100" height="4"/><rect class="normal" width="${width}" height="4"/></svg>`;
}

/** A word with a symbol, so that the meaning does not depend on the colour. */
export function badge(kind: 'good' | 'warn' | 'bad', text: string): Html {
  const sign = { good: '', warn: '▲ ', bad: '✖ ' }[kind];
  return html`<span class="${kind}">${sign === '' ? '' : html`<span aria-hidden="true">${sign}</span>`}${text}</span>`;
}

// A tagged template for HTML: every value is escaped, except results of such templates. No other code decides what is
// escaped.

/** The result of a template, which is not escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

/** Attributes must be quoted. Lists are concatenated; undefined is empty. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
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

function textOf(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(textOf).join('');
  // Invisible characters and direction overrides could forge text, in a page as in a terminal.
  return sanitizeLine(String(value)).replace(/[&<>"'`]/g, character => ENTITIES[character] ?? '');
}

// The style sheet of the report for light and dark mode and for paper. Colour is never the only carrier of meaning.

export const STYLE = html`
:root { color-scheme: light dark; --bg: #fff; --fg: #1f2328; --dim: #59636e; --line: #d1d9e0; --head: #f6f8fa;
  --link: #0550ae; --good: #116329; --warn: #7d4e00; --bad: #a40e26; --bar: #0969da; --bar-back: #d8dee4; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #0d1117; --fg: #e6edf3; --dim: #9da7b3; --line: #3d444d; --head: #151b23;
    --link: #79b8ff; --good: #56d364; --warn: #e3b341; --bad: #ff9a92; --bar: #4493f8; --bar-back: #2f3742; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--bg); color: var(--fg);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
p { margin: .5rem 0; max-width: 60rem; }
a { color: var(--link); }
a:focus-visible, .scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: 1rem 0 0; padding: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
.numbers { display: flex; flex-wrap: wrap; gap: .75rem; list-style: none; padding: 0; margin: 1rem 0; }
.numbers li { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .9rem; min-width: 8rem; }
.numbers b { display: block; font-size: 1.5rem; line-height: 1.3; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0; width: 100%; font-size: .9375rem; }
caption { text-align: left; color: var(--dim); padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
thead th { background: var(--head); vertical-align: bottom; }
thead th.name, thead th.text { overflow-wrap: normal; }
tbody th { font-weight: 600; }
.name { overflow-wrap: anywhere; min-width: 7rem; }
.text { overflow-wrap: anywhere; min-width: 14rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
time { white-space: nowrap; }
.narrow table { width: auto; min-width: 24rem; }
td ul { margin: 0; padding: 0; list-style: none; }
.good, .warn, .bad { white-space: nowrap; }
.good { color: var(--good); }
.warn { color: var(--warn); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.dim { color: var(--dim); }
.none { color: var(--dim); font-style: italic; }
svg.bar { display: block; width: 100%; min-width: 5rem; height: .4rem; margin-top: .2rem; }
svg.chart { width: 100%; max-width: 48rem; height: auto; display: block; margin: .5rem 0; }
svg text { fill: var(--fg); font: 12px system-ui, "Liberation Sans", Arial, sans-serif; }
.axis { stroke: var(--dim); stroke-width: 1; }
.grid { stroke: var(--line); stroke-width: 1; }
.normal { fill: var(--bar); }
.warning { fill: url(#hatch); stroke: var(--bad); stroke-width: 1; }
.hatch-back { fill: var(--bg); }
.hatch-line { stroke: var(--bad); stroke-width: 3; }
.back { fill: var(--bar-back); }
footer { margin-top: 2.5rem; color: var(--dim); font-size: .875rem; }
@media print {
  :root { --bg: #fff; --fg: #000; --dim: #444; --line: #999; --head: #fff; --link: #000;
    --good: #000; --warn: #000; --bad: #000; --bar: #555; --bar-back: #ddd; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  table { font-size: 8.5pt; }
  nav { display: none; }
  .scroll { overflow: visible; }
  h2 { break-after: avoid; }
  tr, svg, .short, .numbers li { break-inside: avoid; }
  caption, .chart { break-after: avoid; }
  thead { display: table-header-group; }
  th, td { padding: .15rem .35rem; }
  .text { min-width: 0; }
  .name { min-width: 4.5rem; }
  @page { size: A4 landscape; margin: 12mm; }
}
`;
